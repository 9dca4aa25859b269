// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// FNV-1a, 64 bit (Fowler, Noll, Vo; RFC 9923): names points and detects damaged journal files. It
// is no defence against an adversary and needs none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kvmeter {

constexpr std::uint64_t fnv1a_start = 0xcbf29ce484222325ULL;

/// Hash of `bytes`, continued from `state`, so that parts can be chained.
constexpr std::uint64_t fnv1a(std::string_view bytes, std::uint64_t state = fnv1a_start) {
  for (const char c : bytes) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return state;
}

/// 16 lower-case hexadecimal digits.
std::string hex(std::uint64_t value);

}  // namespace kvmeter

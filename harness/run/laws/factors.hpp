// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The law of proportion: bytes = 2 x layers x KV heads x head_dim x tokens x batch x bytes of an
// element. Each factor is fitted by itself, over points that differ in no other: the exponent has
// to be 1 and the prefactor 2. Bytes are what the ledger counts less what it explains.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/run/laws/cache_facts.hpp"
#include "harness/run/laws/verdict.hpp"

namespace kvmeter::laws {

inline constexpr double exponent_tolerance = 0.0005;
inline constexpr double prefactor_tolerance = 0.0005;

/// layers, kv_heads, head_dim, tokens, batch, element_bytes.
std::vector<std::string_view> factor_names();

struct Fit {
  double exponent = 0;
  double prefactor = 0;  // of the point where it is farthest from 2
  Verdict verdict = Verdict::none;
};

/// Points that differ in one factor only, and what is fitted over them.
struct Family {
  std::string_view factor;
  std::string placement;
  std::size_t n_points = 0;
  double from = 0, to = 0;  // of the factor
  Fit ledger;
  std::optional<Fit> resident;  // from resident memory, where all caches are large
};

/// All families of two values and more, factor by factor. Caches that hold nothing have no place
/// here.
std::vector<Family> families_of(std::span<const CacheFacts> points);

/// Bytes of the ledger that the formula stands for, over the product of all factors.
double prefactor(const CacheFacts& facts);

}  // namespace kvmeter::laws

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Bits of a stored K or V element without its scales. Written down here a second time, so that
// verify does not take the codecs' own word for it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace kvmeter::laws {

inline constexpr auto element_bits_by_name = std::to_array<std::pair<std::string_view, int>>({
    {"f32", 32},
    {"f16", 16},
    {"bf16", 16},
    {"fp8_e4m3", 8},
    {"int8", 8},
    {"int8_row", 8},
    {"int4", 4},
});

constexpr std::optional<std::int64_t> find_element_bits(std::string_view name) {
  for (const auto& [known, bits] : element_bits_by_name)
    if (known == name) return bits;
  return std::nullopt;
}

}  // namespace kvmeter::laws

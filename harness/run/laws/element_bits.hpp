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

/// Bytes of the scales of one row. 0: none
constexpr std::int64_t row_scale_bytes(std::string_view element, std::int64_t head_dim) {
  if (element == "int8_row") return 4;                                            // one f32
  if (element == "int8" || element == "int4") return 2 * ((head_dim + 31) / 32);  // f16 for 32
  return 0;
}

constexpr std::optional<std::int64_t> find_element_bits(std::string_view name) {
  for (const auto& [known, bits] : element_bits_by_name)
    if (known == name) return bits;
  return std::nullopt;
}

}  // namespace kvmeter::laws

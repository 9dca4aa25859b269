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

/// Bytes of one row that are no elements: an f16 scale for each 32 channels (int8_row: one f32),
/// and what elements are padded by so that scales are aligned. int4 pairs channels i and i + 16 of
/// a group in a byte, so that a last group of r channels takes min(r, 16) bytes.
constexpr std::int64_t row_extra_bytes(std::string_view element, std::int64_t head_dim) {
  const std::int64_t f16_scales = 2 * ((head_dim + 31) / 32);
  if (element == "int8") return head_dim % 2 + f16_scales;
  if (element == "int8_row") return (4 - head_dim % 4) % 4 + 4;
  if (element != "int4") return 0;
  const std::int64_t last = head_dim % 32;
  const std::int64_t taken = last < 16 ? last + last % 2 : 16;
  return (last == 0 ? 0 : taken - last / 2) + f16_scales;
}

constexpr std::optional<std::int64_t> find_element_bits(std::string_view name) {
  for (const auto& [known, bits] : element_bits_by_name)
    if (known == name) return bits;
  return std::nullopt;
}

}  // namespace kvmeter::laws

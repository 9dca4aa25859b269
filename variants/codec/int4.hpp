// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Cache elements as 4-bit integers with an f16 scale for each 32 channels: 18 bytes per 32. Channel
// i < 16 of a group is the lower half of byte i, channel i + 16 the upper half; a last group that
// is shorter has a byte for each of its channels up to 16. Stored is q + 8. Scales follow all
// elements.
#pragma once

#include "variants/codec/scaled.hpp"

namespace kvmeter::codec {

struct Int4 {
  static constexpr float levels = 7;
  static constexpr double relative_error = 0;
  static constexpr double largest_error = 0.5 / 7 * (1 + 0x1p-11) + 0x1p-11;
  static constexpr double absolute_error = 7 * 0x1p-25;  // a scale in the subnormals of f16
  static constexpr std::int32_t half = group_size / 2;

  KOKKOS_INLINE_FUNCTION static std::int32_t element_bytes(std::int32_t head_dim) {
    const std::int32_t rest = head_dim % group_size;
    const std::int32_t bytes = head_dim / group_size * half + (rest < half ? rest : half);
    return (bytes + 1) / 2 * 2;  // so that scales are aligned
  }
  KOKKOS_INLINE_FUNCTION static std::int32_t row_bytes(std::int32_t head_dim) {
    return element_bytes(head_dim) + 2 * n_groups(head_dim);
  }
  KOKKOS_INLINE_FUNCTION static std::int32_t metadata_bytes(std::int32_t head_dim) {
    return row_bytes(head_dim) - head_dim / 2;
  }

  KOKKOS_INLINE_FUNCTION static void encode_row(const float* row, const RowFormat& format,
                                                std::byte* out) {
    auto* bytes = reinterpret_cast<std::uint8_t*>(out);
    auto* scales = reinterpret_cast<kvmeter::F16*>(out + element_bytes(format.head_dim));
    for (std::int32_t first = 0; first < format.head_dim; first += group_size, bytes += half) {
      const std::int32_t left = format.head_dim - first;
      const std::int32_t n = left < group_size ? left : group_size;
      const kvmeter::F16 scale = half_scale_of(row + first, n, levels);
      *scales++ = scale;
      for (std::int32_t i = 0; i < half && i < n; ++i) {
        const std::int32_t lower = quantized(row[first + i], scale, levels);
        const std::int32_t upper =
            i + half < n ? quantized(row[first + i + half], scale, levels) : 0;
        bytes[i] = static_cast<std::uint8_t>((lower + 8) | (upper + 8) << 4);
      }
    }
  }

  template <int Width>
  KOKKOS_INLINE_FUNCTION static Pack<Width> load(const std::byte* row, std::int32_t first,
                                                 const RowFormat& format) {
    const std::int32_t group = first / group_size;
    const std::int32_t i = first % group_size;
    const float scale = scales_at<kvmeter::F16>(row, element_bytes(format.head_dim))[group];
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(row) + group * half + i % half;
    return Pack<Width>::load_nibbles(bytes, i >= half) * Pack<Width>::splat(scale);
  }
};

}  // namespace kvmeter::codec

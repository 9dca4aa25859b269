// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Cache elements as 8-bit integers with an f16 scale for each 32 channels: 34 bytes per 32. A row
// is all elements, then the scales; a last group may be shorter.
#pragma once

#include "variants/codec/scaled.hpp"

namespace kvmeter::codec {

struct Int8 {
  static constexpr float levels = 127;
  static constexpr double relative_error = 0;
  static constexpr double largest_error =
      0.5 / 127 * (1 + 0x1p-11) + 0x1p-11;                 // q, s and its clamp
  static constexpr double absolute_error = 127 * 0x1p-25;  // a scale in the subnormals of f16

  KOKKOS_INLINE_FUNCTION static std::int32_t element_bytes(std::int32_t head_dim) {
    return (head_dim + 1) / 2 * 2;  // so that scales are aligned
  }
  KOKKOS_INLINE_FUNCTION static std::int32_t row_bytes(std::int32_t head_dim) {
    return element_bytes(head_dim) + 2 * n_groups(head_dim);
  }
  KOKKOS_INLINE_FUNCTION static std::int32_t metadata_bytes(std::int32_t head_dim) {
    return row_bytes(head_dim) - head_dim;
  }

  KOKKOS_INLINE_FUNCTION static void encode_row(const float* row, const RowFormat& format,
                                                std::byte* out) {
    auto* elements = reinterpret_cast<std::int8_t*>(out);
    auto* scales = reinterpret_cast<kvmeter::F16*>(out + element_bytes(format.head_dim));
    for (std::int32_t first = 0; first < format.head_dim; first += group_size, ++scales) {
      const std::int32_t left = format.head_dim - first;
      const std::int32_t n = left < group_size ? left : group_size;
      *scales = half_scale_of(row + first, n, levels);
      for (std::int32_t i = first; i < first + n; ++i)
        elements[i] = static_cast<std::int8_t>(quantized(row[i], *scales, levels));
    }
  }

  template <int Width>
  KOKKOS_INLINE_FUNCTION static Pack<Width> load(const std::byte* row, std::int32_t first,
                                                 const RowFormat& format) {
    const float scale =
        scales_at<kvmeter::F16>(row, element_bytes(format.head_dim))[first / group_size];
    return Pack<Width>::load(reinterpret_cast<const std::int8_t*>(row) + first) *
           Pack<Width>::splat(scale);
  }
};

}  // namespace kvmeter::codec

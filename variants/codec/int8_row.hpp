// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Cache elements as 8-bit integers with one f32 scale per token and KV head, after the elements.
#pragma once

#include "variants/codec/scaled.hpp"

namespace kvmeter::codec {

struct Int8Row {
  static constexpr float levels = 127;
  static constexpr double relative_error = 0;
  static constexpr double largest_error = 0.5 / 127 * (1 + 0x1p-23) + 0x1p-23;
  static constexpr double absolute_error = 127 * 0x1p-150;  // a scale in the subnormals

  KOKKOS_INLINE_FUNCTION static std::int32_t element_bytes(std::int32_t head_dim) {
    return (head_dim + 3) / 4 * 4;  // so that the scale is aligned
  }
  KOKKOS_INLINE_FUNCTION static std::int32_t row_bytes(std::int32_t head_dim) {
    return element_bytes(head_dim) + 4;
  }
  KOKKOS_INLINE_FUNCTION static std::int32_t metadata_bytes(std::int32_t head_dim) {
    return row_bytes(head_dim) - head_dim;
  }

  KOKKOS_INLINE_FUNCTION static void encode_row(const float* row, const RowFormat& format,
                                                std::byte* out) {
    auto* elements = reinterpret_cast<std::int8_t*>(out);
    const float scale = scale_of(row, format.head_dim, levels);
    *reinterpret_cast<float*>(out + element_bytes(format.head_dim)) = scale;
    for (std::int32_t i = 0; i < format.head_dim; ++i)
      elements[i] = static_cast<std::int8_t>(quantized(row[i], scale, levels));
  }

  template <int Width>
  KOKKOS_INLINE_FUNCTION static Pack<Width> load(const std::byte* row, std::int32_t first,
                                                 const RowFormat& format) {
    const float scale = *scales_at<float>(row, element_bytes(format.head_dim));
    return Pack<Width>::load(reinterpret_cast<const std::int8_t*>(row) + first) *
           Pack<Width>::splat(scale);
  }
};

}  // namespace kvmeter::codec

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Cache elements as FP8 E4M3, divided by the layer's scale before (1 unless set), saturating.
#pragma once

#include "variants/codec/plain.hpp"

namespace kvmeter::codec {

struct FP8 : Plain<FP8E4M3> {
  static constexpr double relative_error = 0x1p-4;
  static constexpr double absolute_error = 0x1p-10;  // half a step of the subnormals; x the scale

  KOKKOS_INLINE_FUNCTION static void encode_row(const float* row, const RowFormat& format,
                                                std::byte* out) {
    auto* elements = reinterpret_cast<FP8E4M3*>(out);
    for (std::int32_t i = 0; i < format.head_dim; ++i)
      elements[i] = FP8E4M3::from(row[i] / format.scale);
  }
  template <int Width>
  KOKKOS_INLINE_FUNCTION static Pack<Width> load(const std::byte* row, std::int32_t first,
                                                 const RowFormat& format) {
    return Plain::load<Width>(row, first, format) * Pack<Width>::splat(format.scale);
  }
};

}  // namespace kvmeter::codec

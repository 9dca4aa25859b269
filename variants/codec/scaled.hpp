// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What codecs with a scale per group of channels have in common: x becomes q s with a whole number
// q, |q| <= levels, and s = largest |x| / levels. A NaN makes its group's scale NaN, so that it
// does not vanish; infinities count as about the largest float.
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>

#include "harness/exec/half.hpp"
#include "variants/codec/plain.hpp"

namespace kvmeter::codec {

inline constexpr std::int32_t group_size = 32;  // channels that share a scale

KOKKOS_INLINE_FUNCTION std::int32_t n_groups(std::int32_t head_dim) {
  return (head_dim + group_size - 1) / group_size;
}

/// largest |x| / levels over n channels, in f32.
KOKKOS_INLINE_FUNCTION float scale_of(const float* x, std::int32_t n, float levels) {
  float largest = 0;
  for (std::int32_t i = 0; i < n; ++i) {
    const float size = x[i] < 0 ? -x[i] : x[i];
    if (!(size <= largest)) largest = size;  // a NaN is taken
    if (largest != largest) break;
  }
  constexpr float most = 0x1.fffffp127F;  // levels x scale stays finite, however it is rounded
  return (largest > most ? most : largest) / levels;
}

/// The same rounded to f16, and at most its largest number.
KOKKOS_INLINE_FUNCTION kvmeter::F16 half_scale_of(const float* x, std::int32_t n, float levels) {
  const float scale = scale_of(x, n, levels);
  const float most = largest_element<kvmeter::F16>;
  return kvmeter::F16::from(scale > most ? most : scale);
}

/// x / scale to the nearest whole number, ties to even, at most levels; 0 where the scale is 0 or
/// NaN. The quotient is taken in double, so that no tie is made by rounding it.
KOKKOS_INLINE_FUNCTION std::int32_t quantized(float x, float scale, double levels) {
  if (!(scale > 0)) return 0;
  double q = static_cast<double>(x) / static_cast<double>(scale);
  q = q > levels ? levels : q < -levels ? -levels : q;
  constexpr double magic = 6755399441055744.0;  // 1.5 x 2^52: adding it rounds to an integer
  return static_cast<std::int32_t>((q + magic) - magic);
}

/// Reads and writes scales that follow the elements of a row.
template <class Scale>
KOKKOS_INLINE_FUNCTION const Scale* scales_at(const std::byte* row, std::int32_t element_bytes) {
  return reinterpret_cast<const Scale*>(row + element_bytes);
}

}  // namespace kvmeter::codec

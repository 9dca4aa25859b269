// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The 8-bit float E4M3 of cache elements: a sign, 4 bits of exponent, 3 of fraction, no infinity,
// one NaN. P. Micikevicius et al., "FP8 formats for deep learning", 2022.
#pragma once

#include <cstdint>

#include "harness/exec/half.hpp"

namespace kvmeter {

struct FP8E4M3 {
  std::uint8_t bits;

  static constexpr float largest = 448.0F;

  /// Rounds to nearest even. What is beyond the largest becomes the largest; a NaN stays one.
  KOKKOS_INLINE_FUNCTION static FP8E4M3 from(float x) {
    const std::uint32_t b = detail::float_bits(x);
    const std::uint32_t sign = (b >> 24) & 0x80u;
    const std::uint32_t magnitude = b & 0x7fffffffu;
    std::uint32_t byte = 0;
    if (magnitude > 0x7f800000u) {  // NaN
      byte = 0x7f;
    } else if (magnitude >= 0x43e00000u) {  // 448 and above
      byte = 0x7e;
    } else if (magnitude < 0x3c800000u) {  // below 2^-6: let the float adder round at 2^-9
      byte = detail::float_bits(detail::bits_float(magnitude) + 16384.0F) - 0x46800000u;
    } else {
      byte = (magnitude + 0x7ffffu + ((magnitude >> 20) & 1u) - 0x3c000000u) >> 20;
    }
    return {static_cast<std::uint8_t>(sign | byte)};
  }
  KOKKOS_INLINE_FUNCTION operator float() const {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x80u) << 24;
    const std::uint32_t rest = bits & 0x7fu;
    if (rest == 0x7fu) return detail::bits_float(sign | 0x7fc00000u);
    const float magnitude =
        detail::bits_float(rest << 20) * detail::bits_float(0x7b800000u);  // 2^120
    return detail::bits_float(sign | detail::float_bits(magnitude));
  }
};

static_assert(sizeof(FP8E4M3) == 1);

}  // namespace kvmeter

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// 16-bit storage types of fixed width, for weights and cache rows. Kokkos' own half types are float
// where no GPU back end is enabled (Kokkos_Half_FloatingPointWrapper.hpp), which would falsify
// bytes. They convert, round to nearest even, and do no arithmetic.
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace kvmeter {

namespace detail {
KOKKOS_INLINE_FUNCTION std::uint32_t float_bits(float x) {
  return Kokkos::bit_cast<std::uint32_t>(x);
}
KOKKOS_INLINE_FUNCTION float bits_float(std::uint32_t b) {
  return Kokkos::bit_cast<float>(b);
}
}  // namespace detail

/// bfloat16: the upper half of an IEEE single.
struct BF16 {
  std::uint16_t bits;

  KOKKOS_INLINE_FUNCTION static BF16 from(float x) {
    const std::uint32_t b = detail::float_bits(x);
    if ((b & 0x7fffffffu) > 0x7f800000u)  // NaN stays a NaN
      return {static_cast<std::uint16_t>((b >> 16) | 0x40u)};
    return {static_cast<std::uint16_t>((b + 0x7fffu + ((b >> 16) & 1u)) >> 16)};
  }
  KOKKOS_INLINE_FUNCTION operator float() const {
    return detail::bits_float(static_cast<std::uint32_t>(bits) << 16);
  }
};

/// IEEE 754 binary16. Overflow becomes infinity, subnormals are kept.
struct F16 {
  std::uint16_t bits;

  KOKKOS_INLINE_FUNCTION static F16 from(float x) {
    const std::uint32_t b = detail::float_bits(x);
    const std::uint32_t sign = (b >> 16) & 0x8000u;
    const std::uint32_t magnitude = b & 0x7fffffffu;
    std::uint32_t half = 0;
    if (magnitude > 0x7f800000u) {  // NaN
      half = 0x7e00u;
    } else if (magnitude >= 0x477ff000u) {  // rounds to 65536 or more
      half = 0x7c00u;
    } else if (magnitude < 0x38800000u) {  // subnormal: let the float adder round at 2^-24
      half = detail::float_bits(detail::bits_float(magnitude) + 0.5f) - 0x3f000000u;
    } else {
      half = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
    }
    return {static_cast<std::uint16_t>(sign | half)};
  }
  KOKKOS_INLINE_FUNCTION operator float() const {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    const std::uint32_t shifted = static_cast<std::uint32_t>(bits & 0x7fffu) << 13;
    if (shifted >= 0x0f800000u)  // infinity, NaN
      return detail::bits_float(sign | shifted | 0x7f800000u);
    const float magnitude = detail::bits_float(shifted) * detail::bits_float(0x77800000u);  // 2^112
    return detail::bits_float(sign | detail::float_bits(magnitude));
  }
};

static_assert(sizeof(BF16) == 2 && sizeof(F16) == 2);

/// Rounds a float to a storage type; float itself stays as it is.
template <class T>
KOKKOS_INLINE_FUNCTION T round_to(float x) {
  if constexpr (std::is_same_v<T, float>)
    return x;
  else
    return T::from(x);
}

}  // namespace kvmeter

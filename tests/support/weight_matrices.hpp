// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Weight matrices of any element, and the values that they really hold.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "harness/ops/weight_matrix.hpp"
#include "tests/oracle/rounding.hpp"
#include "tests/oracle/tensor.hpp"
#include "tests/support/backends.hpp"

namespace kvmeter::test {

/// What an element of this type makes of x.
inline double round_to_element(Element element, double x) {
  if (element == Element::f16) return oracle::round_f16(x);
  if (element == Element::bf16) return oracle::round_bf16(x);
  return oracle::round_f32(x);
}

/// Bits of a value that the element holds exactly.
inline std::uint16_t half_bits(Element element, double x) {
  const float value = static_cast<float>(x);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  if (element == Element::bf16) return static_cast<std::uint16_t>(bits >> 16);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  if (x == 0) return sign;
  const int exponent = std::max(std::ilogb(x), -14);
  const auto significand = static_cast<int>(std::ldexp(std::abs(x), 10 - exponent));
  const int biased = significand < 1024 ? 0 : exponent + 15;  // below 2^-14: subnormal
  return static_cast<std::uint16_t>(sign | (biased << 10) | (significand & 1023));
}

/// A matrix [out_dim, in_dim] in the memory of Exec, and its values as doubles.
template <class Exec>
std::pair<WeightMatrix<typename Exec::memory_space>, oracle::Matrix> make_weights(
    const Exec& exec, Element element, std::int64_t out_dim, std::int64_t in_dim,
    const std::vector<float>& values) {
  oracle::Matrix held(out_dim, in_dim);
  std::vector<std::byte> bytes(static_cast<std::size_t>(out_dim * in_dim * bytes_of(element)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    held.data[i] = round_to_element(element, values[i]);
    if (element == Element::f32) {
      std::memcpy(bytes.data() + 4 * i, &values[i], 4);
    } else {
      const std::uint16_t bits = half_bits(element, held.data[i]);
      std::memcpy(bytes.data() + 2 * i, &bits, 2);
    }
  }
  return {{element, out_dim, in_dim, to_device(exec, bytes)}, held};
}

}  // namespace kvmeter::test

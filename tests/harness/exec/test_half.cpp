// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The 16-bit types against the definition of their formats in double precision: every bit pattern,
// every midpoint between neighbours and the floats beside it.
#include <bit>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

#include "harness/exec/half.hpp"

namespace kvmeter {
namespace {

struct Format {
  int mantissa_bits;
  int least_exponent;  // of the normal numbers
  int most_exponent;
};
template <class T>
constexpr Format format_of{10, -14, 15};
template <>
constexpr Format format_of<BF16>{7, -126, 127};

/// The value of a bit pattern, by the definition of a binary interchange format.
template <class T>
double value_of(std::uint16_t bits) {
  constexpr Format f = format_of<T>;
  const int exponent_field = (bits & 0x7fff) >> f.mantissa_bits;
  const int mantissa = bits & ((1 << f.mantissa_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent_field == f.most_exponent - f.least_exponent + 2)
    return mantissa != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  if (exponent_field == 0) return sign * std::ldexp(mantissa, f.least_exponent - f.mantissa_bits);
  const int exponent = exponent_field + f.least_exponent - 1;
  return sign * std::ldexp((1 << f.mantissa_bits) + mantissa, exponent - f.mantissa_bits);
}

/// The nearest number of the format, ties to even: nearbyint on the grid of x's binade.
template <class T>
double nearest(double x) {
  constexpr Format f = format_of<T>;
  if (!std::isfinite(x) || x == 0) return x;
  const int exponent = std::max(std::ilogb(x), f.least_exponent);
  const double quantum = std::ldexp(1, exponent - f.mantissa_bits);
  const double rounded = std::nearbyint(x / quantum) * quantum;
  const double beyond = std::ldexp(1, f.most_exponent + 1);
  return std::abs(rounded) >= beyond ? std::copysign(std::numeric_limits<double>::infinity(), x)
                                     : rounded;
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

template <class T>
bool rounds_right(float x) {
  return same(value_of<T>(T::from(x).bits), nearest<T>(x));
}

}  // namespace

TEMPLATE_TEST_CASE("half: every bit pattern is widened exactly", "", F16, BF16) {
  std::int64_t wrong = 0;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const TestType half{static_cast<std::uint16_t>(bits)};
    wrong += !same(static_cast<float>(half), value_of<TestType>(half.bits));
  }
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("half: widening and rounding again gives the same bits", "", F16, BF16) {
  std::int64_t wrong = 0;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const TestType half{static_cast<std::uint16_t>(bits)};
    const TestType again = TestType::from(static_cast<float>(half));
    if (std::isnan(value_of<TestType>(half.bits)))
      wrong +=
          !std::isnan(static_cast<float>(again)) || (again.bits & 0x8000) != (half.bits & 0x8000);
    else
      wrong += again.bits != half.bits;
  }
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("half: midpoints go to even, floats beside them to the nearer", "", F16, BF16) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::int64_t wrong = 0;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const double value = value_of<TestType>(static_cast<std::uint16_t>(bits));
    if (!std::isfinite(value)) continue;
    // The next larger magnitude; beyond the largest it is the number that infinity stands for.
    const double quantum = std::ldexp(
        1, std::max(value == 0 ? -1000 : std::ilogb(value), format_of<TestType>.least_exponent) -
               format_of<TestType>.mantissa_bits);
    const double middle = value + std::copysign(quantum / 2, std::signbit(value) ? -1.0 : 1.0);
    const auto x = static_cast<float>(middle);  // exact: floats have a bit more
    for (const float y : {x, std::nextafter(x, infinity), std::nextafter(x, -infinity)})
      wrong += !rounds_right<TestType>(y);
  }
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("half: floats from everywhere are rounded to the nearest", "", F16, BF16) {
  constexpr std::uint32_t stride = 1009;  // prime: all low bits occur
  std::int64_t wrong = 0;
  for (std::uint64_t bits = 0; bits <= UINT32_MAX; bits += stride)
    wrong += !rounds_right<TestType>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  CHECK(wrong == 0);
}

TEST_CASE("half: the ends of the ranges") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  CHECK(F16::from(65504.0F).bits == 0x7bff);
  CHECK(F16::from(std::nextafter(65520.0F, 0.0F)).bits == 0x7bff);
  CHECK(F16::from(65520.0F).bits == 0x7c00);
  CHECK(F16::from(-infinity).bits == 0xfc00);
  CHECK(F16::from(5.9604645e-8F).bits == 0x0001);
  CHECK(F16::from(2.9802322e-8F).bits == 0x0000);  // half of it: a tie, to even
  CHECK(F16::from(-0.0F).bits == 0x8000);
  CHECK(BF16::from(std::numeric_limits<float>::max()).bits == 0x7f80);
  CHECK(BF16::from(1.0F).bits == 0x3f80);
  CHECK(BF16::from(-infinity).bits == 0xff80);
}

TEST_CASE("half: NaN of any payload stays one") {
  for (const std::uint32_t bits : {0x7f800001U, 0xffbfffffU, 0x7fffffffU, 0x7fc00000U}) {
    const auto nan = std::bit_cast<float>(bits);
    CHECK(std::isnan(static_cast<float>(BF16::from(nan))));
    CHECK(std::isnan(static_cast<float>(F16::from(nan))));
  }
}

TEST_CASE("half: round_to leaves floats alone") {
  CHECK(round_to<float>(0.1F) == 0.1F);
  CHECK(round_to<BF16>(0.1F).bits == BF16::from(0.1F).bits);
}

}  // namespace kvmeter

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Sixteen floats at once against one at a time.
#include "harness/exec/pack.hpp"

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace kvmeter {
namespace {

using Wide = Pack<host_pack_width>;
constexpr std::size_t n = host_pack_width;

std::array<float, n> lanes(const Wide& pack) {
  std::array<float, n> values{};
  pack.store(values.data());
  return values;
}

float from_bits(std::uint32_t bits) {
  float x = 0;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

/// Every bit pattern of a storage type, loaded side by side and one by one.
template <class T, class Bits>
void check_loads() {
  std::array<T, n> stored{};
  for (std::uint32_t first = 0; first < (std::uint32_t{1} << (8 * sizeof(Bits))); first += n) {
    for (std::size_t i = 0; i < n; ++i) {
      const auto bits = static_cast<Bits>(first + i);
      std::memcpy(&stored[i], &bits, sizeof bits);
    }
    const auto values = lanes(Wide::load(stored.data()));
    for (std::size_t i = 0; i < n; ++i) {
      const auto expected = static_cast<float>(stored[i]);
      if (std::isnan(expected) ? std::isnan(values[i]) : values[i] == expected) continue;
      FAIL_CHECK("bits " << first + i << ": " << values[i] << ", not " << expected);
    }
  }
}

TEST_CASE("Packs load every element of every storage type as it is") {
  check_loads<BF16, std::uint16_t>();
  check_loads<F16, std::uint16_t>();
  check_loads<FP8E4M3, std::uint8_t>();
  check_loads<std::int8_t, std::uint8_t>();
}

TEST_CASE("Nibbles are numbers from -8 to 7, lower and upper") {
  std::array<std::uint8_t, n> bytes{};
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::uint8_t>(i | (15 - i) << 4);
  const auto lower = lanes(Wide::load_nibbles(bytes.data(), false));
  const auto upper = lanes(Wide::load_nibbles(bytes.data(), true));
  for (std::size_t i = 0; i < n; ++i) {
    CHECK(lower[i] == static_cast<float>(i) - 8);
    CHECK(upper[i] == static_cast<float>(15 - i) - 8);
  }
}

TEST_CASE("exp is within 2e-7 of the exponential, 0 for masked scores and NaN for every NaN") {
  std::array<float, n> x{};
  for (float first = -87; first < 0; first += 0.0137F) {
    for (std::size_t i = 0; i < n; ++i) x[i] = first + 0.000853F * static_cast<float>(i);
    const auto values = lanes(exp(Wide::load(x.data())));
    for (std::size_t i = 0; i < n; ++i) {
      const double expected = std::exp(double{x[i]});
      if (std::abs(values[i] - expected) > 2e-7 * expected)
        FAIL_CHECK("exp(" << x[i] << ") is " << values[i]);
    }
  }
  CHECK(lanes(exp(Wide::splat(-88)))[0] == 0);
  CHECK(lanes(exp(Wide::splat(-INFINITY)))[0] == 0);
  CHECK(lanes(exp(Wide::splat(0)))[0] == 1);
  for (const std::uint32_t bits : {0x7fc00000U, 0xffffffffU, 0x7f800001U, 0xffc00123U})
    CHECK(std::isnan(lanes(exp(Wide::splat(from_bits(bits))))[0]));
}

TEST_CASE("Sums and maxima take every lane once") {
  std::array<float, n> x{};
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<float>(1U << i);
  const Wide pack = Wide::load(x.data());
  CHECK(pack.sum() == 65535);
  CHECK(pack.highest() == 32768);
  std::array<float, n * n> rows{};
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t c = 0; c < n; ++c) rows[r * n + c] = static_cast<float>(r * 100 + c);
  const auto sums = lanes(Wide::sums_of(rows.data()));
  for (std::size_t r = 0; r < n; ++r) CHECK(sums[r] == static_cast<float>(r * 1600 + 120));
}

}  // namespace
}  // namespace kvmeter

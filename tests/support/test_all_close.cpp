// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>

#include "tests/support/all_close.hpp"

namespace kvmeter::test {
namespace {

using Catch::Matchers::ContainsSubstring;
constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

bool close(const std::vector<double>& values, const std::vector<double>& reference, double bound) {
  return AllClose(reference, bound).match(values);
}

TEST_CASE("AllClose accepts what is within the bound and nothing beyond") {
  CHECK(close({1, 2.5}, {1, 2}, 0.5));
  CHECK_FALSE(close({1, 2.5000001}, {1, 2}, 0.5));
  CHECK(close({1, 2}, {1, 2}, 0));
  CHECK_FALSE(close({1, 2}, {1, 2.0000001}, 0));
  CHECK(close({}, {}, 0));
}

TEST_CASE("AllClose refuses other sizes, NaN and infinities") {
  CHECK_FALSE(close({1}, {1, 2}, 9));
  CHECK_FALSE(close({1, 2}, {1}, 9));
  CHECK_FALSE(close({nan}, {1}, 9));
  CHECK_FALSE(close({1}, {nan}, 9));
  CHECK_FALSE(close({nan}, {nan}, 9));
  CHECK_FALSE(close({inf}, {1}, 9));
  CHECK_FALSE(close({inf}, {-inf}, 9));
  CHECK_FALSE(close({1}, {1.1}, nan));
}

TEST_CASE("AllClose takes a bound for each element and values of either precision") {
  const std::vector<double> reference{1, 100};
  const std::vector<double> bounds{0.01, 10};
  CHECK_THAT((std::vector<float>{1.001F, 109}), AllClose(reference, bounds));
  CHECK_THAT((std::vector<float>{1.1F, 100}), !AllClose(reference, bounds));
}

TEST_CASE("AllClose names the worst element, not the first") {
  const std::vector<double> reference(6, 1);
  const auto matcher = AllClose(reference, 0.5, {2, 3});
  CHECK_FALSE(matcher.match(std::vector<double>{1, 1.6, 1, 1, 4, 1.7}));
  CHECK_THAT(matcher.describe(), ContainsSubstring("worst of 6 at [1, 1]: 4, reference 1"));
}

TEST_CASE("max_abs is the largest magnitude") {
  CHECK(max_abs(std::vector<double>{1, -3, 2}) == 3);
  CHECK(max_abs({}) == 0);
}

}  // namespace
}  // namespace kvmeter::test

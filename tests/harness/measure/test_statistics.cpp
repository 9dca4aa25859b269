// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/statistics.hpp"

#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace kvmeter::measure {
namespace {

using Catch::Approx;

TEST_CASE("quantiles interpolate between order statistics", "[cpu]") {
  const std::vector<double> x{4, 1, 3, 2};
  CHECK(median(x) == 2.5);
  CHECK(quantile(x, 0) == 1);
  CHECK(quantile(x, 1) == 4);
  CHECK(quantile(x, 0.25) == 1.75);
  CHECK(median(std::vector<double>{7}) == 7);
  CHECK(median(std::vector<double>{5, 1, 3}) == 3);
  CHECK(std::isnan(median({})));
}

std::vector<double> one_to(int n) {
  std::vector<double> x;
  for (int i = n; i >= 1; --i) x.push_back(i);
  return x;
}

TEST_CASE("the interval of the median is exact binomial", "[cpu]") {
  CHECK_FALSE(median_interval(one_to(5)));  // its range covers 1 - 2/32 = 0.9375
  const auto six = median_interval(one_to(6)).value();
  CHECK(six.low == 1);
  CHECK(six.high == 6);
  CHECK(six.coverage == Approx(1 - 2.0 / 64));
  const auto ten = median_interval(one_to(10)).value();
  CHECK(ten.low == 2);
  CHECK(ten.high == 9);
  CHECK(ten.coverage == Approx(1 - 2.0 * (1 + 10) / 1024));
  // Conover, Practical Nonparametric Statistics: for n = 20 ranks 6 and 15 cover 0.9586.
  const auto twenty = median_interval(one_to(20)).value();
  CHECK(twenty.low == 6);
  CHECK(twenty.high == 15);
  CHECK(twenty.coverage == Approx(0.9586).margin(5e-5));
  CHECK(median_interval(one_to(5), 0.9).value().low == 1);
  CHECK(median_interval(one_to(20000)).value().low ==
        Approx(10000 - 0.98 * std::sqrt(20000)).margin(2));
}

TEST_CASE("relative noise comes from the interval's width", "[cpu]") {
  CHECK(relative_noise(one_to(10)).value() == Approx((9.0 - 2.0) / 3.92 / 5.5));
  CHECK(relative_noise(std::vector<double>(12, 3.0)).value() == 0);
  CHECK_FALSE(relative_noise(one_to(5)));
  CHECK_FALSE(relative_noise(std::vector<double>(12, 0.0)));
}

TEST_CASE("a power law gives its exponent and factor back", "[cpu]") {
  const std::vector<double> x{1, 2, 8, 8, 32};
  std::vector<double> y;
  for (const double value : x) y.push_back(3 * std::pow(value, 1.5));
  const PowerLaw law = power_law(x, y).value();
  CHECK(law.exponent == Approx(1.5));
  CHECK(law.factor == Approx(3));
  const std::vector<double> uneven{3, 6, 20, 28, 96};  // least squares between two values at 8
  CHECK(power_law(x, uneven).value().exponent == Approx(1).margin(0.01));
}

TEST_CASE("no power law goes through one value, zeros or nothing", "[cpu]") {
  const std::vector<double> same{4, 4, 4}, rising{1, 2, 3}, with_zero{0, 1, 2};
  CHECK_FALSE(power_law(same, rising));
  CHECK_FALSE(power_law(with_zero, rising));
  CHECK_FALSE(power_law(rising, with_zero));
  CHECK_FALSE(power_law({}, {}));
  CHECK(power_law(rising, same).value().exponent == Approx(0).margin(1e-12));
}

TEST_CASE("the interval covers the true median of any distribution", "[cpu]") {
  struct Case {
    double true_median;
    std::function<double(std::mt19937_64&)> draw;
  };
  const std::vector<Case> cases{
      {5, [](auto& g) { return std::normal_distribution(5.0, 1.0)(g); }},
      {1, [](auto& g) { return std::lognormal_distribution(0.0, 1.5)(g); }},
      // Bimodal: 60 % near 1 and 40 % near 3; half of all lie below the 5/6 quantile of the first
      // mode.
      {1 + 0.1 * 5.0 / 6.0, [](auto& g) {
         const double u = std::uniform_real_distribution(0.0, 0.1)(g);
         return (std::bernoulli_distribution(0.6)(g) ? 1.0 : 3.0) + u;
       }}};
  std::mt19937_64 generator(20260101);
  for (const Case& c : cases) {
    for (const int n : {10, 31, 100}) {
      int covered = 0;
      constexpr int n_series = 1000;
      for (int series = 0; series < n_series; ++series) {
        std::vector<double> x(static_cast<std::size_t>(n));
        std::ranges::generate(x, [&] { return c.draw(generator); });
        const auto interval = median_interval(x).value();
        covered += interval.low <= c.true_median && c.true_median <= interval.high;
      }
      // 0.95 less four standard errors of a share of 1000.
      CHECK(covered >= n_series * (0.95 - 4 * std::sqrt(0.95 * 0.05 / n_series)));
    }
  }
}

}  // namespace
}  // namespace kvmeter::measure

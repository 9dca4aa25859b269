// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/running_mean.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

namespace kvmeter::measure {
namespace {

RunningMean of(std::initializer_list<double> values) {
  RunningMean mean;
  for (const double value : values) mean.add(value);
  return mean;
}

}  // namespace

TEST_CASE("Mean and standard error worked out by hand") {
  const RunningMean mean = of({2, 4, 4, 4, 5, 5, 7, 9});  // squares of distances: 32
  CHECK(mean.n() == 8);
  CHECK(mean.mean() == 5);
  CHECK(mean.standard_error() == Catch::Approx(std::sqrt(32.0 / 7 / 8)).epsilon(1e-15));
  CHECK(of({3, 3, 3}).standard_error() == 0);
}

TEST_CASE("A small spread on a large mean is not lost") {
  const double large = 1e9;
  const RunningMean mean = of({large + 4, large + 7, large + 13, large + 16});
  CHECK(mean.mean() == large + 10);
  CHECK(mean.standard_error() == Catch::Approx(std::sqrt(30.0 / 4)).epsilon(1e-12));
}

TEST_CASE("Nothing comes of too few values, nor of a NaN") {
  CHECK(std::isnan(of({}).mean()));
  CHECK(std::isnan(of({}).standard_error()));
  CHECK(of({5}).mean() == 5);
  CHECK(std::isnan(of({5}).standard_error()));
  CHECK(std::isnan(of({1, NAN, 2}).mean()));
  CHECK(std::isnan(of({1, NAN, 2}).standard_error()));
}

}  // namespace kvmeter::measure

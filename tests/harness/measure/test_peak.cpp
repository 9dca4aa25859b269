// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/peak.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

namespace kvmeter::measure {
namespace {

using Catch::Approx;

const MatmulShape square{"square", 8, 16, 16, 2};
const MatmulShape wide{"wide", 8, 16, 64, 1};

TEST_CASE("the bandwidth curve is linear in the logarithm of the size", "[cpu]") {
  const Peak peak{{{1 << 10, 100}, {1 << 20, 20}}, {}};
  CHECK(read_bandwidth_at(peak, 1) == 100);
  CHECK(read_bandwidth_at(peak, 1 << 10) == 100);
  CHECK(read_bandwidth_at(peak, 1 << 15).value() == Approx(60));
  CHECK(read_bandwidth_at(peak, 1 << 20) == 20);
  CHECK(read_bandwidth_at(peak, 1e15) == 20);
  CHECK(read_bandwidth(peak) == 20);
  CHECK_FALSE(read_bandwidth_at(Peak{}, 1));
  CHECK_FALSE(read_bandwidth(Peak{}));
}

TEST_CASE("the matmul rate weighs shapes by their work, each at its best layout", "[cpu]") {
  const Peak peak{{},
                  {{square, Element::f32, "blocked", 100},
                   {square, Element::f32, "row-major", 50},
                   {wide, Element::f32, "blocked", 10},
                   {wide, Element::f32, "row-major", 200}}};
  // 2 squares of 4096 FLOPs at 100/s and a wide one of 16384 at 200/s.
  const std::vector shapes{square, wide};
  CHECK(matmul_rate(peak, Element::f32, shapes).value() ==
        Approx((2 * 4096 + 16384) / (2 * 4096 / 100.0 + 16384 / 200.0)));
  CHECK_FALSE(matmul_rate(peak, Element::bf16, shapes));
  CHECK_FALSE(matmul_rate(peak, Element::f32, std::vector{MatmulShape{"new", 1, 1, 1, 1}}));
  CHECK_FALSE(matmul_rate(peak, Element::f32, {}));
}

TEST_CASE("two peaks are joined by the better value", "[cpu]") {
  const Peak before{{{1024, 10}, {2048, 8}}, {{square, Element::f32, "blocked", 5}}};
  const Peak after{{{512, 30}, {1024, 11}, {2048, 7}}, {{square, Element::f32, "blocked", 4}}};
  const Peak best = best_of(before, after);
  REQUIRE(best.curve.size() == 3);
  CHECK(best.curve[0].bytes == 512);
  CHECK(best.curve[1].bytes_per_s == 11);
  CHECK(best.curve[2].bytes_per_s == 8);
  REQUIRE(best.matmuls.size() == 1);
  CHECK(best.matmuls[0].flops_per_s == 5);
}

PeakPlan small_plan() {
  PeakPlan plan = full_plan({square, wide}, {Element::f32});
  plan.buffer_bytes = {1 << 16, 1 << 20};
  plan.bandwidth_seconds = 0.1;
  plan.matmuls.seconds = 0.1;
  return plan;
}

TEMPLATE_TEST_CASE("a small measurement gives finite, positive bounds", "[cpu]", Kokkos::Serial,
                   Kokkos::OpenMP) {
  const Peak peak = measure_peak(make_exec<TestType>(0), small_plan());
  REQUIRE_FALSE(peak.curve.empty());
  for (const CurvePoint& point : peak.curve) {
    CHECK(std::isfinite(point.bytes_per_s));
    CHECK(point.bytes_per_s > 0);
  }
  CHECK(peak.matmuls.size() == 4);
  CHECK(matmul_rate(peak, Element::f32, std::vector{square, wide}).value() > 0);
  CHECK(matmul_library().starts_with("oneDNN "));
}

TEST_CASE("a buffer larger than the memory is left out", "[cpu]") {
  PeakPlan plan = small_plan();
  plan.buffer_bytes.push_back(std::int64_t{1} << 50);
  const auto curve = measure_bandwidth(Kokkos::Serial(), plan);
  REQUIRE_FALSE(curve.empty());
  CHECK(curve.back().bytes <= 1 << 20);
  plan.buffer_bytes = {std::int64_t{1} << 50};
  CHECK_THROWS_AS(measure_bandwidth(Kokkos::Serial(), plan), Error);
}

}  // namespace
}  // namespace kvmeter::measure

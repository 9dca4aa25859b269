// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Work, bytes and time of a point before it runs.
#include "harness/run/prediction.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "harness/exec/memory.hpp"
#include "harness/run/expected_time.hpp"

namespace kvmeter::run {
namespace {

Prediction predicted(const std::string& point) {
  return predict(make_setup(parse_point("model=tiny " + point), 1));
}

TEST_CASE("a prefill computes the same in chunks of any size", "[run]") {
  const std::string point = "batch=3 prompt_tokens=40 new_tokens=4 prefill_chunk=";
  const std::int64_t whole = predicted(point + "0").prefill.flops;
  for (const char* chunk : {"1", "7", "16", "40"})
    CHECK(predicted(point + chunk).prefill.flops == whole);
  CHECK(predicted("batch=3 prompt_tokens=40 new_tokens=0").prefill.flops < whole);  // no logits
}

TEST_CASE("a prefix in common is computed once, and its logits never", "[run]") {
  const std::string point = "cache=paged prompt_tokens=40 new_tokens=4 batch=";
  const std::int64_t one = predicted(point + "1").prefill.flops;
  const std::int64_t two = predicted(point + "2 shared_prefix_tokens=39").prefill.flops;
  const std::int64_t last = predicted("prompt_tokens=1 new_tokens=4").prefill.flops;
  CHECK(two > one + last);  // it sees 39 keys besides
  CHECK(two < one + 2 * last);
}

TEST_CASE("scales are measured in memory that is predicted", "[run]") {
  const std::string point =
      "prompt_tokens=5000 new_tokens=2 k_element=fp8_e4m3 v_element=fp8_e4m3 fp8_scale=";
  const Prediction plain = predicted(point + "none");
  const Prediction scaled = predicted(point + "layer");
  CHECK(plain.scale_pass_bytes == 0);
  CHECK(scaled.scale_pass_bytes > 4 * scaled.cache.formula_bytes * 4999 / 5001);
  CHECK(scaled.total_bytes() > plain.total_bytes());
  CHECK(scaled.scale_pass.flops > 0);
}

TEST_CASE("weights that are in memory already count for the next point", "[run]") {
  Prediction p;
  const std::int64_t available = available_memory_bytes().value();
  p.weights_bytes = available / 2;
  p.activations_bytes = available;
  CHECK_FALSE(memory_shortage(p, 0, 0).empty());
  CHECK(memory_shortage(p, 0, available).empty());
  CHECK_FALSE(memory_shortage(p, available, available).empty());  // a limit holds for all of it
}

/// Steps of one second each.
Prediction seconds(std::int64_t prefill_s, std::int64_t decode_s, std::int64_t decode_steps) {
  Prediction p;
  p.prefill.flops = prefill_s;
  p.decode.flops = decode_s;
  p.decode_steps = decode_steps;
  return p;
}

TEST_CASE("a point takes its samples, or its time, and a warm-up", "[run]") {
  const Rates rates;
  const StopRule rule{.min_samples = 10, .max_seconds = 1000, .relative_noise = 0.02};
  CHECK(generation_seconds(seconds(5, 1, 3), rates) == 8);
  CHECK(point_seconds(seconds(5, 1, 3), rates, rule) == 8 + 10 * 8);
  // Where no prefill is timed, a generation has as many samples as decode steps.
  CHECK(point_seconds(seconds(0, 1, 6), rates, rule) == 6 + 2 * 6);
  StopRule capped = rule;
  capped.max_seconds = 40;
  CHECK(point_seconds(seconds(5, 1, 3), rates, capped) == 40);
  // A generation that takes longer than the cap is taken once, its warm-up broken off.
  CHECK(point_seconds(seconds(5, 1, 95), rates, capped) == 10 + 100);
  CHECK(point_seconds(seconds(50, 1, 50), rates, capped) == 50 + 100);
}

TEST_CASE("a point's limit caps its samples", "[run]") {
  const StopRule rule{.min_samples = 10, .max_seconds = 20};
  CHECK(within(rule, {}).max_seconds == 20);
  CHECK(within(rule, {.point_seconds = 3}).max_seconds == 3);
  CHECK(within(rule, {.point_seconds = 30}).max_seconds == 20);
}

}  // namespace
}  // namespace kvmeter::run

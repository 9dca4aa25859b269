// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/stop_rule.hpp"

#include <catch2/catch_test_macros.hpp>

#include "harness/measure/warmup.hpp"

namespace kvmeter::measure {
namespace {

constexpr StopRule rule{.min_samples = 10, .max_seconds = 20, .relative_noise = 0.02};

void add(StopDecision& decision, Phase phase, int count, double spread) {
  for (int i = 0; i < count; ++i) decision.add(phase, 1 + spread * i);
}

TEST_CASE("quiet samples stop at the least number of each phase", "[cpu]") {
  StopDecision decision(rule, {Phase::prefill, Phase::decode});
  add(decision, Phase::decode, 50, 0);
  add(decision, Phase::prefill, 9, 0);
  CHECK_FALSE(decision.reason(1));
  add(decision, Phase::prefill, 1, 0);
  CHECK(decision.reason(1) == StopReason::samples);
}

TEST_CASE("noisy samples go on until the cap", "[cpu]") {
  StopDecision decision(rule, {Phase::decode});
  add(decision, Phase::decode, 12, 0.2);
  CHECK(decision.noise().value() > rule.relative_noise);
  CHECK_FALSE(decision.reason(19.9));
  CHECK(decision.reason(20) == StopReason::cap);
}

TEST_CASE("more samples of the same noise make the median sure", "[cpu]") {
  StopDecision decision(rule, {Phase::decode});
  int n = 0;
  while (!decision.reason(1)) decision.add(Phase::decode, n++ % 2 == 0 ? 1.0 : 1.0 + 0.3 * (n % 7));
  CHECK(n > 10);
  CHECK(decision.reason(1) == StopReason::samples);
}

TEST_CASE("the cap waits for one sample of each phase", "[cpu]") {
  StopDecision decision(rule, {Phase::prefill, Phase::decode});
  CHECK_FALSE(decision.reason(100));
  decision.add(Phase::prefill, 30);
  CHECK_FALSE(decision.reason(100));
  decision.add(Phase::decode, 1);
  CHECK(decision.reason(100) == StopReason::cap);
}

TEST_CASE("a phase that generations do not have is not waited for", "[cpu]") {
  StopDecision decision(rule, {Phase::prefill, Phase::decode});
  decision.add(Phase::prefill, 1);
  CHECK_FALSE(decision.reason(100));
  decision.finish_generation();
  CHECK(decision.reason(100) == StopReason::cap);
  add(decision, Phase::prefill, 9, 0);
  CHECK(decision.reason(1) == StopReason::samples);
}

TEST_CASE("a rule of few samples does not ask for noise that cannot be told", "[cpu]") {
  StopDecision decision({.min_samples = 2, .max_seconds = 20}, {Phase::decode});
  add(decision, Phase::decode, 2, 0.5);
  CHECK_FALSE(decision.noise());
  CHECK(decision.reason(1) == StopReason::samples);
}

TEST_CASE("a phase of few samples does not hide the noise of another", "[cpu]") {
  StopDecision decision({.min_samples = 3, .max_seconds = 20, .relative_noise = 0.02},
                        {Phase::prefill, Phase::decode});
  add(decision, Phase::prefill, 3, 0);
  add(decision, Phase::decode, 12, 0.2);
  CHECK(decision.noise().value() > 0.02);
  CHECK_FALSE(decision.reason(1));
  CHECK(decision.reason(20) == StopReason::cap);
}

TEST_CASE("reasons are spelled as in the result file", "[cpu]") {
  CHECK(name_of(StopReason::samples) == "samples");
  CHECK(name_of(StopReason::noise) == "noise");
  CHECK(name_of(StopReason::cap) == "cap");
}

TEST_CASE("the first generation is warm-up", "[cpu]") {
  Warmup warmup;
  CHECK(warmup.active());
  warmup.finish_generation();
  CHECK_FALSE(warmup.active());
}

}  // namespace
}  // namespace kvmeter::measure

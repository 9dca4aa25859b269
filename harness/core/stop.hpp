// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// When to stop sampling a point, and what a point may use. Plain data, set by a sweep's [stop] and
// [limits] tables, obeyed by harness/measure and harness/run.
#pragma once

#include <cstdint>

namespace kvmeter {

struct StopRule {
  std::int64_t min_samples = 10;  // of each phase, warm-up not counted
  double max_seconds = 20;        // cap on the sampling of one point
  double relative_noise = 0.02;   // of the median: go on above it until the cap
  std::int64_t trials = 1;
};

/// The first generation is warm-up; its decoding is broken off after this share of the cap, so that
/// it does not take the time for sampling.
inline constexpr double warmup_share = 0.25;

struct Limits {
  double point_seconds = 0;       // 0: no limit
  std::int64_t memory_bytes = 0;  // 0: what the machine has available
};

/// The rule where a point may take no longer than its limit.
inline StopRule within(StopRule rule, const Limits& limits) {
  if (limits.point_seconds > 0 && limits.point_seconds < rule.max_seconds)
    rule.max_seconds = limits.point_seconds;
  return rule;
}

}  // namespace kvmeter

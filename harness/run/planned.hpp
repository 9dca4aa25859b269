// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// A sweep after everything about its points was looked at: what can run, and what that takes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/run/peaks.hpp"
#include "harness/run/prediction.hpp"
#include "harness/workload/sweep.hpp"

namespace kvmeter::run {

struct PlannedPoint {
  std::int64_t index = 0;           // in the whole sweep
  std::string spelling;             // canonical
  Setup setup;                      // of points that run
  Prediction prediction;            // likewise
  std::optional<std::string> skip;  // why not: a [[skip]] rule, memory, an unsupported combination
};

/// Throws UsageError with a line per point that makes no sense.
std::vector<PlannedPoint> plan_points(const Sweep& sweep);

}  // namespace kvmeter::run

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The least time that predicted work takes at a machine's rates.
#pragma once

#include "harness/core/stop.hpp"
#include "harness/run/prediction.hpp"

namespace kvmeter::run {

/// Rates of a machine to turn costs into seconds with.
struct Rates {
  double bytes_per_s = 1;
  double flops_per_s = 1;
};

/// Seconds of one generation at these rates: each step the longer of its bytes and its arithmetic.
double generation_seconds(const Prediction& prediction, const Rates& rates);

/// Seconds that a point takes at the least under the stop rule, at these rates and if its samples
/// are quiet: warm-up, generations until there are samples enough or the cap is reached, and the
/// passes for scales and quality. What is checked besides is not counted.
double point_seconds(const Prediction& prediction, const Rates& rates, const StopRule& rule);

}  // namespace kvmeter::run

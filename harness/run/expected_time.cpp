// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/expected_time.hpp"

#include <algorithm>
#include <cmath>

namespace kvmeter::run {
namespace {

double step_seconds(const Cost& cost, const Rates& rates) {
  return std::max(static_cast<double>(cost.bytes_read) / rates.bytes_per_s,
                  static_cast<double>(cost.flops) / rates.flops_per_s);
}

/// Generations that have min_samples of each phase: of the prefill, where it is timed, each has
/// one.
double generations_wanted(const Prediction& p, const StopRule& rule) {
  const bool times_prefill = p.prefill.flops > 0;
  const auto per_generation =
      static_cast<double>(times_prefill ? 1 : std::max<std::int64_t>(p.decode_steps, 1));
  return std::max(1.0, std::ceil(static_cast<double>(rule.min_samples) / per_generation));
}

}  // namespace

double generation_seconds(const Prediction& p, const Rates& rates) {
  return step_seconds(p.prefill, rates) +
         static_cast<double>(p.decode_steps) * step_seconds(p.decode, rates);
}

double point_seconds(const Prediction& p, const Rates& rates, const StopRule& rule) {
  const double one = generation_seconds(p, rates);
  const double warmup =
      std::min(one, std::max(step_seconds(p.prefill, rates), rule.max_seconds * warmup_share));
  const double wanted = warmup + generations_wanted(p, rule) * one;
  const double capped = std::max(rule.max_seconds, warmup + one);
  return std::min(wanted, capped) + step_seconds(p.scale_pass, rates) +
         step_seconds(p.quality, rates);
}

}  // namespace kvmeter::run

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Bytes and time that a point will take, from its shape and declared costs alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "harness/core/cost.hpp"
#include "harness/core/stop.hpp"
#include "harness/run/setup.hpp"

namespace kvmeter::run {

struct Prediction {
  std::int64_t weights_bytes = 0;
  CacheFootprint cache;               // with every sequence at its full length
  std::int64_t cache_peak_bytes = 0;  // on the way there, tables and staging included
  std::int64_t activations_bytes = 0;
  std::int64_t quality_bytes = 0;  // caches and activations of the quality pass, in their place
  Cost prefill;
  Cost decode;  // the step in the middle of the generation
  std::int64_t decode_steps = 0;
  Cost quality;  // of the whole pass

  [[nodiscard]] std::int64_t total_bytes() const {
    return weights_bytes + std::max(cache_peak_bytes + activations_bytes, quality_bytes);
  }
};

Prediction predict(const Setup& setup);

/// Rates of a machine to turn costs into seconds with.
struct Rates {
  double bytes_per_s = 1;
  double flops_per_s = 1;
};

/// Seconds of one generation at these rates: each step the longer of its bytes and its arithmetic.
double generation_seconds(const Prediction& prediction, const Rates& rates);

/// Seconds that a point takes under the stop rule: warm-up, then generations until the rule is met
/// or the cap, then the quality pass.
double point_seconds(const Prediction& prediction, const Rates& rates, const StopRule& rule);

/// Why the point cannot fit in the memory there is, or an empty string. \param limit_bytes 0: what
/// is available
std::string memory_shortage(const Prediction& prediction, std::int64_t limit_bytes);

}  // namespace kvmeter::run

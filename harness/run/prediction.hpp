// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Bytes and work that a point will take, from its shape and declared costs alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "harness/core/cost.hpp"
#include "harness/run/setup.hpp"

namespace kvmeter::run {

struct Prediction {
  std::int64_t weights_bytes = 0;
  CacheFootprint cache;               // with every sequence at its full length
  std::int64_t cache_peak_bytes = 0;  // on the way there, tables and staging included
  std::int64_t activations_bytes = 0;
  // Passes before and after, caches and activations in place of the point's own: 0 without them.
  std::int64_t scale_pass_bytes = 0;
  std::int64_t quality_bytes = 0;
  Cost prefill;
  Cost decode;  // the step in the middle of the generation
  std::int64_t decode_steps = 0;
  Cost scale_pass;
  Cost quality;  // of the whole pass

  [[nodiscard]] std::int64_t total_bytes() const {
    return weights_bytes +
           std::max({cache_peak_bytes + activations_bytes, scale_pass_bytes, quality_bytes});
  }
};

Prediction predict(const Setup& setup);

/// Why the point cannot fit in the memory there is, or an empty string. \param limit_bytes 0: what
/// is available \param held_bytes of weights that are in memory already, and are used or freed
std::string memory_shortage(const Prediction& prediction, std::int64_t limit_bytes,
                            std::int64_t held_bytes);

}  // namespace kvmeter::run

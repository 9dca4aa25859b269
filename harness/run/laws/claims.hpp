// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What a point found of statements about caches: rows that never change, decoding that is
// prefilling, and a cache that holds K, V and tables and nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/record.hpp"
#include "harness/run/laws/verdict.hpp"

namespace kvmeter::laws {

struct LiveLabel {
  std::string label;
  std::int64_t bytes = 0;
};

struct Claims {
  std::optional<std::int64_t> rows_compared, rows_changed, rows_steps;  // steps between
  Verdict rows = Verdict::none;
  std::optional<double> decode_difference;  // of the largest logit
  std::optional<double> decode_bound;       // none where large steps may round activations
  Verdict decode = Verdict::none;
  std::optional<double> check_difference, check_bound;  // of the first steps
  std::vector<LiveLabel> live;                          // after the last step
  Verdict labels = Verdict::none;
};

Claims claims_of(const PointRecord& record);

/// A line for each claim that fails.
std::vector<std::string> claim_mistakes(const Claims& claims);

}  // namespace kvmeter::laws

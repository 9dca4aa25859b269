// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What one point left behind: named values and its raw samples. Plain data that the runner fills
// and the journal and result file keep. Which names exist, with units and descriptions, is the
// schema (harness/record/schema.hpp); a value that was not honestly measured is absent, never zero.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "harness/core/enums.hpp"
#include "harness/core/point.hpp"

namespace kvmeter {

/// One timed step: the prefill of the whole batch, or one decode step of the whole batch.
struct Sample {
  std::int32_t trial = 0;  // repetition in a fresh process
  std::int32_t index = 0;  // order within the trial
  Phase phase = Phase::decode;
  std::int64_t context_len = 0;  // tokens per sequence attended to at the end of the step
  std::int64_t n_tokens = 0;     // tokens produced or, in a prefill, taken in, over the batch
  double time_s = 0;
  bool is_warmup = false;
};

using RecordValue = std::variant<std::int64_t, double, std::string>;

struct PointRecord {
  std::string point_hash;  // 16 hex digits: configuration, workload, program, schema
  Point point;             // as requested
  Status status = Status::ok;
  std::string message;                        // one line; empty when ok
  std::map<std::string, RecordValue> values;  // every other per-point variable of the schema
  std::vector<Sample> samples;
};

/// The value of that name, where there is one of that type.
template <class T>
std::optional<T> find_value(const PointRecord& record, const std::string& name) {
  const auto found = record.values.find(name);
  if (found == record.values.end()) return std::nullopt;
  const auto* value = std::get_if<T>(&found->second);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

/// Global attributes of a result file, e.g. {"git_commit", "..."}; numbers stay numbers.
using Attributes = std::map<std::string, RecordValue>;

}  // namespace kvmeter

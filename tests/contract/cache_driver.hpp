// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Drives one KvCache as a decoder does, layer by layer and step by step, and keeps what it was
// given, so that every output can be held against the oracle.
#pragma once

#include <memory>
#include <vector>

#include "tests/contract/all_variants.hpp"
#include "tests/contract/sequence_rows.hpp"
#include "tests/support/backends.hpp"

namespace kvmeter::test {

/// Tokens that one sequence gets in a step.
struct StepPart {
  std::int32_t slot = 0;
  std::int64_t n_tokens = 0;
};

/// Output rows of one part of a step, by layer.
using PartOutput = std::vector<oracle::Matrix>;  // [n_layers][n_tokens, n_heads * head_dim]

template <class Exec>
class CacheDriver {
 public:
  using MemorySpace = typename Exec::memory_space;

  /// Memory holds NaN where nothing was written. `max_rows`: the most tokens of a step.
  CacheDriver(const Combination& combination, CacheSpec spec, std::int64_t max_rows);

  /// Replaces what is to be stored in a slot; tokens that were stepped over stay stored.
  void set_rows(std::int32_t slot, SequenceRows rows) { sequence(slot).rows = std::move(rows); }

  /// Takes the next tokens of each part's sequence through all layers, in several steps where the
  /// spec's max_step_tokens are fewer. A cache that keeps nothing is brought the whole sequences.
  /// \return one entry for each part
  std::vector<PartOutput> step(const std::vector<StepPart>& parts);

  /// Stores the next tokens of each part's sequence in all layers, and attends to nothing.
  void append_only(const std::vector<StepPart>& parts);

  /// step(), and checks every output against the oracle within attention_bound.
  std::vector<PartOutput> checked_step(const std::vector<StepPart>& parts);

  void truncate(std::int32_t slot, std::int64_t n_tokens) {
    cache_->truncate(slot, static_cast<std::int32_t>(n_tokens));
    sequence(slot).n_stored = n_tokens;
  }

  /// Sequence `to` begins with n_tokens of `from`, as the cache holds them.
  void fork(std::int32_t from, std::int32_t to, std::int64_t n_tokens) {
    cache_->fork(exec_, from, to, static_cast<std::int32_t>(n_tokens));
    sequence(to) = sequence(from);
    sequence(to).n_stored = n_tokens;
  }

  [[nodiscard]] std::int64_t stored(std::int32_t slot) const {
    return sequences_.at(static_cast<std::size_t>(slot)).n_stored;
  }
  KvCache<Exec>& cache() { return *cache_; }
  [[nodiscard]] const CacheSpec& spec() const { return spec_; }

  /// Rows of K and V as the cache holds them, decoded. \return [n_kv_heads * head_dim]
  struct StoredRow {
    std::vector<double> k, v;
  };
  StoredRow stored_row(std::int32_t slot, std::int64_t layer, std::int64_t position);

 private:
  struct Sequence {
    SequenceRows rows;
    std::int64_t n_stored = 0;
  };
  Sequence& sequence(std::int32_t slot) { return sequences_.at(static_cast<std::size_t>(slot)); }

  std::vector<PartOutput> one_step(const std::vector<StepPart>& parts);
  StepPlan make_plan(const std::vector<StepPart>& parts) const;
  std::vector<float> projected(const StepPlan& plan, std::size_t layer) const;
  ProjectedRows<MemorySpace> append(std::int64_t layer, const StepPlan& plan,
                                    const DevicePlan<MemorySpace>& device_plan);
  Array2<float, MemorySpace> run_layer(std::int64_t layer, const StepPlan& plan,
                                       const DevicePlan<MemorySpace>& device_plan);

  Exec exec_;
  Combination combination_;
  CacheSpec spec_;
  std::unique_ptr<KvCache<Exec>> cache_;
  PlanBuffer<Exec> plan_buffer_;
  std::vector<Sequence> sequences_;  // [batch]
};

}  // namespace kvmeter::test

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Where a token's rows live: a host-side policy that hands out blocks. It knows neither elements
// nor kernels, and a new one needs none.
#pragma once

#include <cstdint>

#include "harness/cache/step_plan.hpp"
#include "harness/core/error.hpp"
#include "harness/exec/views.hpp"

namespace kvmeter {

/// Block ids by sequence and by position / block_tokens, on the host. The cache uploads it when
/// `changed`.
struct BlockTable {
  HostArray2<std::int32_t> ids;  // [batch, max_blocks]
  bool changed = true;
};

struct PoolShape {
  std::int64_t n_blocks = 0;  // of each layer
  std::int32_t block_tokens = 0;
  std::int32_t max_blocks = 0;    // of one sequence
  bool shared_by_layers = false;  // one layer's memory serves all: nothing outlives the layer
};

struct PlacementSpec {
  std::int32_t batch = 1;
  std::int32_t max_tokens = 0;
};

class Placement {
 public:
  virtual ~Placement() = default;

  /// Memory that each layer needs.
  [[nodiscard]] virtual PoolShape pool() const = 0;

  /// Do rows outlive the step that wrote them?
  [[nodiscard]] virtual bool keeps_past() const { return true; }

  /// Writes the table entries that the step's positions need. Throws Error when no block is left.
  virtual void reserve(const StepPlan& plan, BlockTable& table) = 0;

  /// Gives up what only positions from n_tokens on need.
  virtual void truncate(std::int32_t slot, std::int32_t n_tokens, BlockTable& table) = 0;
};

/// One block per sequence, as long as the longest: what contiguous memory is in terms of blocks.
class OneBlockEach : public Placement {
 public:
  explicit OneBlockEach(const PlacementSpec& spec) : m_spec(spec) {}

  [[nodiscard]] PoolShape pool() const override {
    return {m_spec.batch, m_spec.max_tokens, 1, !keeps_past()};
  }
  void reserve(const StepPlan& plan, BlockTable& table) override {
    for (const StepSequence& s : plan.sequences) {
      KVMETER_EXPECTS(s.first_position + s.n_tokens <= m_spec.max_tokens,
                      "sequence {} reaches {} tokens; the cache was built for {}", s.slot,
                      s.first_position + s.n_tokens, m_spec.max_tokens);
      if (table.ids(s.slot, 0) == s.slot) continue;
      table.ids(s.slot, 0) = s.slot;
      table.changed = true;
    }
  }
  void truncate(std::int32_t, std::int32_t, BlockTable&) override {}

 private:
  PlacementSpec m_spec;
};

}  // namespace kvmeter

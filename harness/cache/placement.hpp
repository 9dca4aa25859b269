// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Where a token's rows live: a host-side policy that hands out blocks. It knows neither elements
// nor kernels nor memory, and a new one needs none of them. One placement serves all layers that
// have the same window.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "harness/cache/step_plan.hpp"
#include "harness/core/error.hpp"

namespace kvmeter {

/// Block ids by sequence and by position / block_tokens. The cache uploads it when `changed`.
struct BlockTable {
  std::int32_t max_blocks = 0;    // of one sequence
  std::vector<std::int32_t> ids;  // [batch, max_blocks]
  bool changed = true;

  [[nodiscard]] std::int32_t at(std::int32_t slot, std::int32_t i) const {
    return ids[index(slot, i)];
  }
  void set(std::int32_t slot, std::int32_t i, std::int32_t id) {
    std::int32_t& entry = ids[index(slot, i)];
    changed = changed || entry != id;
    entry = id;
  }

 private:
  [[nodiscard]] std::size_t index(std::int32_t slot, std::int32_t i) const {
    return static_cast<std::size_t>(slot) * static_cast<std::size_t>(max_blocks) +
           static_cast<std::size_t>(i);
  }
};

/// The first n_tokens rows of each head of a block are to be copied to another block.
struct BlockCopy {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int32_t n_tokens = 0;
};
using BlockCopies = std::vector<BlockCopy>;

struct PoolShape {
  std::int64_t n_blocks = 0;  // of each layer
  std::int32_t block_tokens = 0;
  std::int32_t max_blocks = 0;    // of one sequence
  bool shared_by_layers = false;  // one layer's memory serves all: nothing outlives the layer

  [[nodiscard]] std::int64_t rows() const { return n_blocks * block_tokens; }
  bool operator==(const PoolShape&) const = default;
};

/// Rows of one layer, by what they are for.
struct PoolUse {
  std::int64_t kept = 0;    // tokens that later queries may see, over all sequences
  std::int64_t held = 0;    // rows that hold them: fewer where sequences share some
  std::int64_t in_use = 0;  // rows of blocks that hold any
  std::int64_t all = 0;     // rows of the pool
};

struct PlacementSpec {
  std::int32_t batch = 1;
  std::int32_t max_tokens = 1;       // of a sequence
  std::int32_t max_step_tokens = 1;  // of a sequence in one step
  std::int32_t block_tokens = 16;
  std::int32_t window = 0;       // keys that a query sees, its own included; 0: all
  std::int32_t sink_tokens = 0;  // first keys that it sees besides
  std::int64_t pool_tokens = 0;  // rows of the pool; 0: enough for all sequences
};

class Placement {
 public:
  explicit Placement(const PlacementSpec& spec)
      : m_spec(spec),
        m_lengths(static_cast<std::size_t>(spec.batch), 0),
        m_in_step(static_cast<std::size_t>(spec.batch), false) {}
  virtual ~Placement() = default;

  /// Memory that each layer needs now. It may grow in reserve and shrink in truncate.
  [[nodiscard]] virtual PoolShape pool() const = 0;

  /// Do rows outlive the step that wrote them?
  [[nodiscard]] virtual bool keeps_past() const { return true; }

  /// Are rows given up that no later query of the window can see?
  [[nodiscard]] virtual bool forgets_beyond_window() const { return false; }

  /// Do forked sequences share blocks until they write to them?
  [[nodiscard]] virtual bool shares_blocks() const { return false; }

  /// Is memory mapped only where rows are, within address space for the whole pool?
  [[nodiscard]] virtual bool maps_pages() const { return false; }

  /// Throws Error where reserve() would: for sequences and lengths that the cache was not built
  /// for, tokens that do not follow those it holds, no room.
  virtual void check(const StepPlan& plan) const {
    std::fill(m_in_step.begin(), m_in_step.end(), false);
    for (const StepSequence& s : plan.sequences) {
      check_slot(s.slot);
      KVMETER_EXPECTS(!m_in_step[static_cast<std::size_t>(s.slot)],
                      "sequence {} is twice in a step", s.slot);
      m_in_step[static_cast<std::size_t>(s.slot)] = true;
      check_positions(s);
    }
  }

  void check_slot(std::int32_t slot) const {
    KVMETER_EXPECTS(slot >= 0 && slot < m_spec.batch,
                    "sequence {}; the cache was built for {} of them", slot, m_spec.batch);
  }

  /// Throws Error where a sequence cannot go on from n_tokens, as truncate() and fork() let it:
  /// keys that its next token sees are gone.
  virtual void check_kept(std::int32_t /*slot*/, std::int32_t /*n_tokens*/) const {}

  /// Writes the table entries that the step's positions need, and adds copies that must be made
  /// before its rows are written. Throws Error, and changes nothing, when that is not possible.
  virtual void reserve(const StepPlan& plan, BlockTable& table, BlockCopies& copies) = 0;

  /// Gives up what only positions from n_tokens on need. Throws Error where positions before are
  /// gone.
  virtual void truncate(std::int32_t slot, std::int32_t n_tokens, BlockTable& table) = 0;

  /// Lets the empty sequence `to` begin with n_tokens of `from`, in shared blocks or by copies.
  virtual void fork(std::int32_t from, std::int32_t to, std::int32_t n_tokens, BlockTable& table,
                    BlockCopies& copies) = 0;

  [[nodiscard]] virtual PoolUse use() const = 0;

  /// Tokens of a sequence.
  [[nodiscard]] std::int32_t length(std::int32_t slot) const {
    return m_lengths[static_cast<std::size_t>(slot)];
  }

 protected:
  [[nodiscard]] const PlacementSpec& spec() const { return m_spec; }
  void set_length(std::int32_t slot, std::int32_t n_tokens) {
    m_lengths[static_cast<std::size_t>(slot)] = n_tokens;
  }

  void check_fork(std::int32_t from, std::int32_t to, std::int32_t n_tokens) const {
    KVMETER_EXPECTS(from != to && length(to) == 0, "fork into sequence {}, which holds {} tokens",
                    to, length(to));
    KVMETER_EXPECTS(n_tokens <= length(from), "fork of {} tokens; sequence {} has {}", n_tokens,
                    from, length(from));
  }

  void check_positions(const StepSequence& s) const {
    KVMETER_EXPECTS(s.n_tokens > 0 && s.n_tokens <= m_spec.max_tokens - s.first_position,
                    "sequence {} reaches {} tokens; the cache was built for {}", s.slot,
                    std::int64_t{s.first_position} + s.n_tokens, m_spec.max_tokens);
    const std::int32_t held = keeps_past() ? length(s.slot) : 0;
    KVMETER_EXPECTS(s.first_position == held,
                    "sequence {}: a step from position {} on; the cache holds {} tokens", s.slot,
                    s.first_position, held);
  }

  /// Tokens over all sequences, of each at most so many.
  [[nodiscard]] std::int64_t total_length(
      std::int32_t at_most = std::numeric_limits<std::int32_t>::max()) const {
    std::int64_t total = 0;
    for (const std::int32_t length : m_lengths) total += std::min(length, at_most);
    return total;
  }

  /// Where sequences have rows of their own and nothing is rounded to blocks.
  [[nodiscard]] static PoolUse own_rows(std::int64_t kept, std::int64_t all) {
    return {kept, kept, kept, all};
  }

 private:
  PlacementSpec m_spec;
  std::vector<std::int32_t> m_lengths;  // [batch]
  mutable std::vector<bool> m_in_step;  // [batch] of check()
};

}  // namespace kvmeter

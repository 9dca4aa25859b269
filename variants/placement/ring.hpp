// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// A sliding window of W keys in memory for W tokens and a step: position p overwrites the row of
// the position that lies a whole buffer before it. The first sink_tokens may stay besides (G. Xiao
// et al., "Efficient streaming language models with attention sinks", 2023; positions stay absolute
// here). A layer without a window keeps everything.
#pragma once

#include <algorithm>
#include <vector>

#include "harness/cache/placement.hpp"

namespace kvmeter::placement {

class Ring final : public Placement {
 public:
  explicit Ring(const PlacementSpec& spec)
      : Placement(spec), m_written(static_cast<std::size_t>(spec.batch), 0) {
    // A step of n tokens needs the keys of its first query and its own: W - 1 + n rows.
    const std::int64_t window_rows = std::int64_t{spec.window} - 1 + spec.max_step_tokens;
    const std::int64_t size = spec.sink_tokens > 0 ? spec.block_tokens : window_rows;
    if (spec.window == 0 || rounded(spec.sink_tokens, size) + rounded(window_rows, size) >=
                                std::int64_t{spec.max_tokens}) {
      m_block_tokens = spec.max_tokens;
      return;
    }
    m_block_tokens = static_cast<std::int32_t>(size);
    m_sink_blocks = blocks_for(spec.sink_tokens);
    m_ring_blocks = blocks_for(static_cast<std::int32_t>(window_rows));
  }

  [[nodiscard]] PoolShape pool() const override {
    return {std::int64_t{spec().batch} * blocks_each(), m_block_tokens,
            blocks_for(spec().max_tokens), false};
  }

  [[nodiscard]] bool forgets_beyond_window() const override { return true; }

  void check(const StepPlan& plan) const override {
    Placement::check(plan);
    for (const StepSequence& s : plan.sequences) {
      KVMETER_EXPECTS(s.n_tokens <= spec().max_step_tokens,
                      "a step of {} tokens; the ring was built for steps of {}", s.n_tokens,
                      spec().max_step_tokens);
      check_kept(s.slot, s.first_position);
    }
  }

  /// Are the keys that a query at position n sees still there?
  void check_kept(std::int32_t slot, std::int32_t n) const override {
    if (n == 0 || spec().window == 0) return;
    const std::int32_t oldest =
        m_written[static_cast<std::size_t>(slot)] - m_ring_blocks * m_block_tokens;
    const std::int32_t first_seen =  // of those that the ring's blocks hold
        std::max(n - spec().window + 1, m_sink_blocks * m_block_tokens);
    KVMETER_EXPECTS(first_seen >= oldest || first_seen >= n,
                    "sequence {} cannot go on from {} tokens: of a window of {} the keys before {} "
                    "are overwritten",
                    slot, n, spec().window, oldest);
  }

  void reserve(const StepPlan& plan, BlockTable& table, BlockCopies& /*copies*/) override {
    check(plan);
    for (const StepSequence& s : plan.sequences) {
      place(s.slot, table);
      set_length(s.slot, s.first_position + s.n_tokens);
      std::int32_t& written = m_written[static_cast<std::size_t>(s.slot)];
      written = std::max(written, length(s.slot));
    }
  }

  void truncate(std::int32_t slot, std::int32_t n_tokens, BlockTable& /*table*/) override {
    if (n_tokens >= length(slot)) return;
    check_kept(slot, n_tokens);
    set_length(slot, n_tokens);
    if (n_tokens == 0) m_written[static_cast<std::size_t>(slot)] = 0;
  }

  void fork(std::int32_t from, std::int32_t to, std::int32_t n_tokens, BlockTable& table,
            BlockCopies& copies) override {
    check_fork(from, to, n_tokens);
    check_kept(from, n_tokens);
    place(to, table);
    for (std::int32_t i = 0; i < blocks_each(); ++i) {
      const bool wraps = n_tokens > blocks_each() * m_block_tokens;
      const std::int32_t rows = wraps ? m_block_tokens : n_tokens - i * m_block_tokens;
      if (rows <= 0) break;
      copies.push_back(
          {from * blocks_each() + i, to * blocks_each() + i, std::min(rows, m_block_tokens)});
    }
    set_length(to, n_tokens);
    m_written[static_cast<std::size_t>(to)] =
        n_tokens > 0 ? m_written[static_cast<std::size_t>(from)] : 0;
  }

  [[nodiscard]] PoolUse use() const override {
    const bool all = spec().window == 0;
    const std::int32_t most = all ? spec().max_tokens : spec().sink_tokens + spec().window;
    return own_rows(total_length(most), pool().rows());
  }

 private:
  static std::int64_t rounded(std::int64_t rows, std::int64_t block) {
    return (rows + block - 1) / block * block;
  }
  [[nodiscard]] std::int32_t blocks_for(std::int32_t n_tokens) const {
    return n_tokens / m_block_tokens + (n_tokens % m_block_tokens > 0 ? 1 : 0);
  }
  [[nodiscard]] std::int32_t blocks_each() const { return m_sink_blocks + m_ring_blocks; }

  /// Fills a sequence's line of the table, which never changes.
  void place(std::int32_t slot, BlockTable& table) const {
    if (table.at(slot, 0) >= 0) return;
    for (std::int32_t i = 0; i < table.max_blocks; ++i) {
      const bool sink = i < m_sink_blocks;
      const std::int32_t own = sink ? i : m_sink_blocks + (i - m_sink_blocks) % m_ring_blocks;
      table.set(slot, i, slot * blocks_each() + own);
    }
  }

  std::int32_t m_block_tokens = 1;
  std::int32_t m_sink_blocks = 0;
  std::int32_t m_ring_blocks = 1;
  std::vector<std::int32_t> m_written;  // [batch] end of the positions written since it was empty
};

}  // namespace kvmeter::placement

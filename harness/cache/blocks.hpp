// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Placements made of equal blocks that sequences take from one pool as they grow. Contiguous memory
// is the case of one block per sequence.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "harness/cache/block_pool.hpp"
#include "harness/cache/placement.hpp"

namespace kvmeter {

class Blocks : public Placement {
 public:
  /// \param shares may a block have several owners, until one writes to it
  Blocks(const PlacementSpec& spec, std::int32_t block_tokens, bool shares)
      : Placement(spec),
        m_block_tokens(block_tokens),
        m_shares(shares),
        m_pool(spec.pool_tokens > 0 ? spec.pool_tokens / block_tokens
                                    : std::int64_t{spec.batch} * blocks_for(spec.max_tokens)),
        m_blocks(static_cast<std::size_t>(spec.batch)) {
    for (auto& blocks : m_blocks)
      blocks.reserve(static_cast<std::size_t>(blocks_for(spec.max_tokens)));
  }

  [[nodiscard]] PoolShape pool() const override {
    return {m_pool.size(), m_block_tokens, blocks_for(spec().max_tokens), !keeps_past()};
  }

  [[nodiscard]] bool shares_blocks() const override { return m_shares; }

  void check(const StepPlan& plan) const override {
    Placement::check(plan);
    check_free(plan);
  }

  void reserve(const StepPlan& plan, BlockTable& table, BlockCopies& copies) override {
    check(plan);
    for (const StepSequence& s : plan.sequences) {
      own_first_block(s, table, copies);
      while (n_blocks(s.slot) < blocks_for(s.first_position + s.n_tokens))
        append_block(s.slot, m_pool.take(), table);
      set_length(s.slot, s.first_position + s.n_tokens);
    }
  }

  void truncate(std::int32_t slot, std::int32_t n_tokens, BlockTable& /*table*/) override {
    if (n_tokens >= length(slot)) return;
    for (auto& blocks = blocks_of(slot); n_blocks(slot) > blocks_for(n_tokens); blocks.pop_back())
      m_pool.release(blocks.back());
    set_length(slot, n_tokens);
  }

  void fork(std::int32_t from, std::int32_t to, std::int32_t n_tokens, BlockTable& table,
            BlockCopies& copies) override {
    check_fork(from, to, n_tokens);
    if (!m_shares) check_free(blocks_for(n_tokens));
    for (std::int32_t i = 0; i < blocks_for(n_tokens); ++i) {
      const std::int32_t id = blocks_of(from)[static_cast<std::size_t>(i)];
      if (m_shares) {
        m_pool.share(id);
        append_block(to, id, table);
      } else {
        append_block(to, m_pool.take(), table);
        copies.push_back({id, blocks_of(to).back(), n_tokens - i * m_block_tokens});
      }
    }
    set_length(to, n_tokens);
  }

  [[nodiscard]] PoolUse use() const override {
    PoolUse use;
    use.kept = total_length();
    std::vector<std::int32_t> held(static_cast<std::size_t>(m_pool.size()), 0);  // by block
    for (std::int32_t slot = 0; slot < spec().batch; ++slot) {
      std::int32_t left = length(slot);
      for (const std::int32_t id : m_blocks[static_cast<std::size_t>(slot)]) {
        std::int32_t& most = held[static_cast<std::size_t>(id)];
        most = std::max(most, std::min(left, m_block_tokens));
        left -= m_block_tokens;
      }
    }
    for (const std::int32_t rows : held) use.held += rows;
    use.in_use = (m_pool.size() - m_pool.n_free()) * m_block_tokens;
    use.all = m_pool.size() * m_block_tokens;
    return use;
  }

  [[nodiscard]] const BlockPool& block_pool() const { return m_pool; }

 private:
  [[nodiscard]] std::int32_t blocks_for(std::int32_t n_tokens) const {
    return n_tokens / m_block_tokens + (n_tokens % m_block_tokens > 0 ? 1 : 0);
  }
  std::vector<std::int32_t>& blocks_of(std::int32_t slot) {
    return m_blocks[static_cast<std::size_t>(slot)];
  }
  [[nodiscard]] std::int32_t n_blocks(std::int32_t slot) const {
    return static_cast<std::int32_t>(m_blocks[static_cast<std::size_t>(slot)].size());
  }
  void append_block(std::int32_t slot, std::int32_t id, BlockTable& table) {
    table.set(slot, n_blocks(slot), id);
    blocks_of(slot).push_back(id);
  }

  /// The block that the step's first token is written into, if rows before it are there: it must
  /// not be anyone else's.
  [[nodiscard]] std::int32_t begun_block(const StepSequence& s) const {
    const std::int32_t i = s.first_position / m_block_tokens;
    if (s.first_position % m_block_tokens == 0 || i >= n_blocks(s.slot)) return -1;
    return m_blocks[static_cast<std::size_t>(s.slot)][static_cast<std::size_t>(i)];
  }

  void check_free(std::int64_t needed) const {
    KVMETER_EXPECTS(needed <= m_pool.n_free(),
                    "the cache's pool is too small: {} more blocks of {} tokens are needed, {} of "
                    "{} are free",
                    needed, m_block_tokens, m_pool.n_free(), m_pool.size());
  }

  /// What reserve() will take, counted before anything changes.
  void check_free(const StepPlan& plan) const {
    std::int64_t needed = 0;
    std::map<std::int32_t, std::int32_t> copied;  // by shared block: owners that copy it
    for (const StepSequence& s : plan.sequences) {
      needed += blocks_for(s.first_position + s.n_tokens) - n_blocks(s.slot);
      const std::int32_t id = begun_block(s);
      if (id < 0 || m_pool.owners(id) - copied[id] <= 1) continue;
      ++needed;
      ++copied[id];
    }
    check_free(needed);
  }

  /// Copy on write: a block that the step writes into belongs to its sequence alone.
  void own_first_block(const StepSequence& s, BlockTable& table, BlockCopies& copies) {
    const std::int32_t before = begun_block(s);
    if (before < 0 || m_pool.owners(before) == 1) return;
    const std::int32_t i = s.first_position / m_block_tokens;
    const std::int32_t own = m_pool.take();
    copies.push_back({before, own, s.first_position % m_block_tokens});
    m_pool.release(before);
    blocks_of(s.slot)[static_cast<std::size_t>(i)] = own;
    table.set(s.slot, i, own);
  }

  std::int32_t m_block_tokens;
  bool m_shares;
  BlockPool m_pool;
  std::vector<std::vector<std::int32_t>> m_blocks;  // [batch] ids, by position / block_tokens
};

}  // namespace kvmeter

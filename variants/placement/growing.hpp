// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// One block per sequence that starts as long as the first step needs and doubles by copying, as
// dynamic caches of tensors do: while a layer is copied its old and its new memory are both there.
#pragma once

#include <algorithm>

#include "harness/cache/placement.hpp"

namespace kvmeter::placement {

class Growing final : public Placement {
 public:
  using Placement::Placement;

  [[nodiscard]] PoolShape pool() const override {
    return {m_capacity > 0 ? spec().batch : 0, m_capacity, 1, false};
  }

  void reserve(const StepPlan& plan, BlockTable& table, BlockCopies& /*copies*/) override {
    check(plan);
    std::int32_t longest = 0;
    for (const StepSequence& s : plan.sequences) {
      longest = std::max(longest, s.first_position + s.n_tokens);
      table.set(s.slot, 0, s.slot);
      set_length(s.slot, s.first_position + s.n_tokens);
    }
    if (longest <= m_capacity) return;
    const bool doubles = m_capacity <= spec().max_tokens / 2;
    m_capacity = std::max(longest, doubles ? 2 * m_capacity : spec().max_tokens);
  }

  /// Without tokens there is no memory either: the next generation grows anew.
  void truncate(std::int32_t slot, std::int32_t n_tokens, BlockTable& /*table*/) override {
    set_length(slot, std::min(length(slot), n_tokens));
    if (total_length() == 0) m_capacity = 0;
  }

  void fork(std::int32_t from, std::int32_t to, std::int32_t n_tokens, BlockTable& table,
            BlockCopies& copies) override {
    check_fork(from, to, n_tokens);
    table.set(to, 0, to);
    copies.push_back({from, to, n_tokens});
    set_length(to, n_tokens);
  }

  [[nodiscard]] PoolUse use() const override { return own_rows(total_length(), pool().rows()); }

 private:
  std::int32_t m_capacity = 0;  // tokens of each sequence
};

}  // namespace kvmeter::placement

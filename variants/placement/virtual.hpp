// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// One stretch of address space per sequence, as long as the longest, with memory mapped page by
// page as rows are written: no block table for kernels to follow, no memory for tokens that are not
// there. R. Prabhu et al., "vAttention: dynamic memory management for serving LLMs without
// PagedAttention", 2024.
#pragma once

#include "harness/cache/blocks.hpp"

namespace kvmeter::placement {

class Virtual final : public Blocks {
 public:
  explicit Virtual(const PlacementSpec& spec) : Blocks(spec, spec.max_tokens, false) {}
  [[nodiscard]] bool maps_pages() const override { return true; }

  [[nodiscard]] PoolUse use() const override {
    PoolUse use = Blocks::use();
    use.in_use = use.held;
    return use;
  }
};

}  // namespace kvmeter::placement

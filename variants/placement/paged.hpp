// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Blocks of block_tokens tokens from one pool, as sequences need them, found through a block table;
// forked sequences share blocks until one writes. W. Kwon et al., "Efficient memory management for
// large language model serving with PagedAttention", 2023.
#pragma once

#include "harness/cache/blocks.hpp"

namespace kvmeter::placement {

class Paged final : public Blocks {
 public:
  explicit Paged(const PlacementSpec& spec) : Blocks(spec, spec.block_tokens, true) {}
};

}  // namespace kvmeter::placement

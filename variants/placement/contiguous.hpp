// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// One block per sequence, of the maximum length, reserved up front: what later tokens will need is
// set aside, not rounding.
#pragma once

#include "harness/cache/blocks.hpp"

namespace kvmeter::placement {

class Contiguous final : public Blocks {
 public:
  explicit Contiguous(const PlacementSpec& spec) : Blocks(spec, spec.max_tokens, false) {}

  [[nodiscard]] PoolUse use() const override {
    PoolUse use = Blocks::use();
    use.in_use = use.held;
    return use;
  }
};

}  // namespace kvmeter::placement

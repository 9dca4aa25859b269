// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// No cache: every step brings whole sequences, and K and V of one layer live until the next layer
// overwrites them.
#pragma once

#include "harness/cache/blocks.hpp"

namespace kvmeter::placement {

class None final : public Blocks {
 public:
  explicit None(const PlacementSpec& spec) : Blocks(spec, spec.max_tokens, false) {}
  [[nodiscard]] bool keeps_past() const override { return false; }
};

}  // namespace kvmeter::placement

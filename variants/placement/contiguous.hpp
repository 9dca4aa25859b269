// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// One block per sequence, of the maximum length, reserved up front.
#pragma once

#include "harness/cache/placement.hpp"

namespace kvmeter::placement {

class Contiguous final : public OneBlockEach {
 public:
  using OneBlockEach::OneBlockEach;
};

}  // namespace kvmeter::placement

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Cache elements as bfloat16: what is stored is the element and nothing else.
#pragma once

#include "variants/codec/plain.hpp"

namespace kvmeter::codec {

struct BF16 : Plain<kvmeter::BF16> {
  static constexpr double relative_error = 0x1p-8;
  static constexpr double absolute_error = 0x1p-134;  // half a step of the subnormals
};

}  // namespace kvmeter::codec

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Cache elements as IEEE half: what is stored is the element and nothing else.
#pragma once

#include "variants/codec/plain.hpp"

namespace kvmeter::codec {

struct F16 : Plain<kvmeter::F16> {
  static constexpr double relative_error = 0x1p-11;
  static constexpr double absolute_error = 0x1p-25;  // half a step of the subnormals
};

}  // namespace kvmeter::codec

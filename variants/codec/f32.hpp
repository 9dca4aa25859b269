// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Cache elements as IEEE single: what is stored is the element and nothing else.
#pragma once

#include "variants/codec/plain.hpp"

namespace kvmeter::codec {

struct F32 : Plain<float> {
  static constexpr double relative_error = 0;
  static constexpr double absolute_error = 0;
};

}  // namespace kvmeter::codec

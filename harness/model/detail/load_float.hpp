// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// A float from bytes of any alignment: a safetensors header of odd length leaves the data so.
#pragma once

#include <cstddef>
#include <cstring>

#include "harness/exec/half.hpp"

namespace kvmeter::detail {

/// Element `i` of the array of T (float, F16, BF16) that begins at `bytes`.
template <class T>
KOKKOS_INLINE_FUNCTION float load_float(const std::byte* bytes, std::size_t i) {
  T value;
  memcpy(&value, bytes + i * sizeof(T), sizeof(T));
  return static_cast<float>(value);
}

}  // namespace kvmeter::detail

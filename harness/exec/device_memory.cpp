// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/memory.hpp"
#include "harness/exec/spaces.hpp"

namespace kvmeter {

std::optional<std::int64_t> device_used_bytes() {
#if defined(KOKKOS_ENABLE_CUDA)
  std::size_t available = 0;
  std::size_t all = 0;
  if (cudaMemGetInfo(&available, &all) == cudaSuccess)
    return static_cast<std::int64_t>(all - available);
#endif
  return std::nullopt;
}

}  // namespace kvmeter

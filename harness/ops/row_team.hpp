// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// A team per row, and the policy for it.
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>

#include "harness/exec/spaces.hpp"

namespace kvmeter::ops {

template <class Exec>
using RowPolicy = Kokkos::TeamPolicy<Exec, Kokkos::IndexType<std::int32_t>>;

/// One team per row: a single thread on the host, a block of 128 on a device.
template <class Exec>
RowPolicy<Exec> row_policy(const Exec& exec, std::int64_t n_rows) {
  return RowPolicy<Exec>(exec, static_cast<int>(n_rows), is_host_exec<Exec> ? 1 : 4,
                         is_host_exec<Exec> ? 1 : 32);
}

}  // namespace kvmeter::ops

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The blocks that a kernel is to copy, on both sides.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "harness/cache/placement.hpp"
#include "harness/exec/spaces.hpp"
#include "harness/exec/views.hpp"

namespace kvmeter {

/// Room for the copies of one kernel, on both sides.
template <class Exec>
struct CopyList {
  Array1<BlockCopy, typename Exec::memory_space> device;
  HostArray1<BlockCopy> host;

  CopyList() = default;
  CopyList(const Exec& exec, const std::string& label, std::int64_t n)
      : device(allocate<decltype(device)>(exec, label, n)),
        host(allocate<decltype(host)>(Kokkos::DefaultHostExecutionSpace(),
                                      "kvmeter::host::block_copies", n)) {}

  /// Copies [first, first + n) of a list, where kernels can read them.
  auto upload(const Exec& exec, const BlockCopies& copies, std::size_t first, std::size_t n) {
    if constexpr (!is_host_exec<Exec>) exec.fence("kvmeter::cache::copy: the list is written anew");
    std::copy_n(copies.begin() + static_cast<std::ptrdiff_t>(first), n, host.data());
    const auto part = std::make_pair<std::size_t>(0, std::size_t{n});
    Kokkos::deep_copy(exec, Kokkos::subview(device, part), Kokkos::subview(host, part));
    return Kokkos::subview(device, part);
  }
};

/// Blocks with several owners are copied once, as far as the longest of them goes.
inline void keep_one_of_each(BlockCopies& copies) {
  std::sort(copies.begin(), copies.end(), [](const BlockCopy& a, const BlockCopy& b) {
    return a.to != b.to ? a.to < b.to : a.n_tokens > b.n_tokens;
  });
  const auto same = [](const BlockCopy& a, const BlockCopy& b) { return a.to == b.to; };
  copies.erase(std::unique(copies.begin(), copies.end(), same), copies.end());
}

}  // namespace kvmeter

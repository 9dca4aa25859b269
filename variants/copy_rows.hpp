// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Copies rows of blocks as they are stored: for copies on write and forks, for memory that grows,
// and for offloaded layers that are brought in.
#pragma once

#include <cstring>

#include "harness/cache/layer_cache.hpp"
#include "harness/cache/placement.hpp"
#include "harness/exec/spaces.hpp"
#include "harness/exec/views.hpp"

namespace kvmeter {

/// One team per copy, head, and K or V.
template <class Exec>
struct CopyRowsKernel {
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::Schedule<Kokkos::Dynamic>>;
  using Team = typename Policy::member_type;

  LayerCache from;  // pools; block_tokens may differ
  LayerCache to;
  ConstArray1<BlockCopy, typename Exec::memory_space> copies;

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    const bool is_v = team.league_rank() % 2 == 1;
    const std::int32_t head = team.league_rank() / 2 % from.n_kv_heads;
    const BlockCopy copy = copies(team.league_rank() / 2 / from.n_kv_heads);
    const std::int64_t row_bytes = is_v ? from.v_row_bytes : from.k_row_bytes;
    const std::int64_t source = from.first_row(copy.from, head) * row_bytes;
    const std::int64_t target = to.first_row(copy.to, head) * row_bytes;
    copy_bytes(team, (is_v ? from.v : from.k) + source, (is_v ? to.v : to.k) + target,
               copy.n_tokens * row_bytes);
  }

 private:
  KOKKOS_INLINE_FUNCTION static void copy_bytes(const Team& team, const std::byte* from,
                                                std::byte* to, std::int64_t n) {
    if constexpr (is_host_exec<Exec>) {
      std::memcpy(to, from, static_cast<std::size_t>(n));
    } else {
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, n),
                           [&](std::int64_t i) { to[i] = from[i]; });
    }
  }
};

/// \param copies [n] on the device
template <class Exec>
void copy_rows(const Exec& exec, const CopyRowsKernel<Exec>& kernel) {
  const auto league = static_cast<int>(kernel.copies.extent(0)) * kernel.from.n_kv_heads * 2;
  if (league == 0) return;
  using Policy = typename CopyRowsKernel<Exec>::Policy;
  const auto policy = is_host_exec<Exec> ? Policy(exec, league, 1, 1) : Policy(exec, league, 4, 32);
  Kokkos::parallel_for("kvmeter::cache::copy_rows", policy, kernel);
}

}  // namespace kvmeter

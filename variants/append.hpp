// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Stores the K and V rows of a step: each (row, KV head) is encoded where its position lives.
#pragma once

#include "harness/cache/device_plan.hpp"
#include "harness/cache/kv_cache.hpp"
#include "variants/codec/codecs.hpp"

namespace kvmeter {

template <class Exec>
struct AppendKernel {
  using MemorySpace = typename Exec::memory_space;
  LayerCache cache;
  DevicePlan<MemorySpace> plan;
  ProjectedRows<MemorySpace> k;  // [n_rows, n_kv_heads * head_dim]
  ProjectedRows<MemorySpace> v;

  KOKKOS_INLINE_FUNCTION void operator()(std::int32_t index) const {
    const std::int32_t row = index / cache.n_kv_heads;
    const std::int32_t head = index % cache.n_kv_heads;
    const std::int32_t slot = plan.slots(row);
    const std::int32_t position = plan.positions(row);
    const std::int32_t column = head * cache.head_dim;
    std::byte* k_row = cache.k_row(slot, head, position);
    std::byte* v_row = cache.v_row(slot, head, position);
    visit_codec(cache.k_codec, [&](auto codec) {
      decltype(codec)::encode_row(&k(row, column), cache.k_format(), k_row);
    });
    visit_codec(cache.v_codec, [&](auto codec) {
      decltype(codec)::encode_row(&v(row, column), cache.v_format(), v_row);
    });
  }
};

template <class Exec>
void append_rows(const Exec& exec, const AppendKernel<Exec>& kernel) {
  const Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int32_t>> policy(
      exec, 0, kernel.plan.n_rows * kernel.cache.n_kv_heads);
  Kokkos::parallel_for("kvmeter::cache::append", policy, kernel);
}

}  // namespace kvmeter

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/memory_account.hpp"

#include "harness/exec/ledger.hpp"
#include "harness/exec/memory.hpp"

namespace kvmeter::run {
MemorySnapshot memory_now(Backend backend) {
  release_freed_memory();  // what a check has given back is not the cache's
  MemorySnapshot now{rss_bytes(), std::nullopt, ledger().live_bytes(cache_area), 0};
  now.other_bytes = ledger().live_bytes() - now.cache_bytes;
  if (backend == Backend::cuda) now.device_bytes = device_used_bytes();
  return now;
}

MemorySnapshot memory_before(Backend backend) {
  reset_peak_rss();
  ledger().reset_peak();
  return memory_now(backend);
}

void put_growth(const MemorySnapshot& before, const MemorySnapshot& built,
                const MemorySnapshot& after, PointRecord& record) {
  auto& values = record.values;
  if (after.rss_bytes && before.rss_bytes)
    values["rss_delta_bytes"] = *after.rss_bytes - *before.rss_bytes;
  if (after.device_bytes && before.device_bytes) {
    values["device_delta_bytes"] = *after.device_bytes - *before.device_bytes;
    return;  // the host's memory holds no cache
  }
  const MemorySnapshot& then = after.cache_bytes > built.cache_bytes ? after : built;
  if (then.rss_bytes && before.rss_bytes)
    values["rss_cache_bytes"] =
        *then.rss_bytes - *before.rss_bytes - (then.other_bytes - before.other_bytes);
}

void put_cache_bytes(const CacheFootprint& footprint, PointRecord& record) {
  auto& values = record.values;
  const std::int64_t counted = ledger().live_bytes(cache_area);
  values["cache_tokens"] = footprint.tokens;
  values["cache_formula_bytes"] = footprint.formula_bytes;
  values["cache_live_bytes"] = footprint.live_bytes();
  values["cache_allocated_bytes"] = footprint.allocated_bytes();
  values["cache_offloaded_bytes"] = footprint.offloaded_bytes;
  values["cache_reserved_bytes"] = footprint.reserved_bytes;
  values["cache_metadata_bytes"] = footprint.metadata_bytes();
  values["cache_scale_bytes"] = footprint.scale_bytes;
  values["cache_shared_bytes"] = footprint.shared_bytes;
  values["cache_block_rounding_bytes"] = footprint.block_rounding_bytes;
  values["cache_reserve_bytes"] = footprint.reserve_bytes;
  values["cache_staging_bytes"] = footprint.staging_bytes;
  values["cache_table_bytes"] = footprint.table_bytes;
  values["cache_allocator_bytes"] = footprint.allocator_bytes;
  values["cache_ledger_bytes"] = counted;
  values["cache_ledger_peak_bytes"] = ledger().peak_bytes(cache_area);
  values["cache_unexplained_bytes"] = counted - footprint.ledger_bytes();
}

}  // namespace kvmeter::run

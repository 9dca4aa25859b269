// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The bytes of a point from three sources that know nothing of each other: what the cache says of
// itself, what Kokkos allocated by label, and what the operating system (or the device) counts.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/cache/kv_cache.hpp"
#include "harness/core/record.hpp"

namespace kvmeter::run {

/// What is in use at one time.
struct MemorySnapshot {
  std::optional<std::int64_t> rss_bytes;
  std::optional<std::int64_t> device_bytes;
  std::int64_t cache_bytes = 0;  // by the ledger
  std::int64_t other_bytes = 0;  // by the ledger, outside the cache
};
/// Gives freed memory back to the system first.
MemorySnapshot memory_now(Backend backend);

/// The same, and every peak starts again.
MemorySnapshot memory_before(Backend backend);

/// rss_delta_bytes and device_delta_bytes from `before` to `after`; and rss_cache_bytes, up to when
/// the cache was `built`, unless it has grown since: libraries that steps call have memory of their
/// own, of which nothing tells.
void put_growth(const MemorySnapshot& before, const MemorySnapshot& built,
                const MemorySnapshot& after, PointRecord& record);

/// The footprint that the cache claims beside the ledger's bytes under its labels.
void put_cache_bytes(const CacheFootprint& footprint, PointRecord& record);

}  // namespace kvmeter::run

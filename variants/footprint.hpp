// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Bytes and work of a cache from its shape alone: used to predict, and by the cache itself to
// report.
#pragma once

#include "variants/block_cache.hpp"

namespace kvmeter {

/// Bytes of one token in one layer: K and V of all KV heads, and how much of that is metadata.
struct TokenBytes {
  std::int64_t elements = 0;  // without scales: what the formula counts
  std::int64_t metadata = 0;
  [[nodiscard]] std::int64_t total() const { return elements + metadata; }
};
TokenBytes token_bytes(const CacheRecipe& recipe, const CacheSpec& spec);

/// Throws UnsupportedError for what no cache of these variants can be: int4 with an odd head_dim,
/// and more blocks or pages than tables are led for.
void check_layout(const CacheRecipe& recipe, const CacheSpec& spec);

/// What append and attend of all layers must move and compute in a step: each visible row of K and
/// V once per KV head and sequence; an offloaded layer's rows are read and written once more.
Cost step_cost(const CacheRecipe& recipe, const CacheSpec& spec, const StepPlan& plan);

}  // namespace kvmeter

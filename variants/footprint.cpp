// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "variants/footprint.hpp"

#include <algorithm>

namespace kvmeter {
namespace {

/// Keys that the queries of a sequence's step can see, and (query, key) pairs, in one layer.
struct Visible {
  std::int64_t keys = 0;
  std::int64_t pairs = 0;
};

Visible visible_of(const StepSequence& s, std::int64_t window) {
  const std::int64_t end = s.first_position + s.n_tokens;
  if (window == 0 || end <= window) return {end, s.n_tokens * (s.first_position + end + 1) / 2};
  const std::int64_t begin = std::max<std::int64_t>(0, s.first_position - window + 1);
  std::int64_t pairs = 0;
  for (std::int64_t p = s.first_position; p < end; ++p) pairs += std::min(p + 1, window);
  return {end - begin, pairs};
}

}  // namespace

std::int64_t row_bytes(CodecId codec, std::int64_t head_dim) {
  std::int64_t bytes = 0;
  visit_codec(codec, [&](auto c) { bytes = c.row_bytes(static_cast<std::int32_t>(head_dim)); });
  return bytes;
}

std::int64_t row_metadata_bytes(CodecId codec, std::int64_t head_dim) {
  std::int64_t bytes = 0;
  visit_codec(codec,
              [&](auto c) { bytes = c.metadata_bytes(static_cast<std::int32_t>(head_dim)); });
  return bytes;
}

TokenBytes token_bytes(const CacheRecipe& recipe, const CacheSpec& spec) {
  TokenBytes bytes;
  for (const CodecId codec : {recipe.k_codec, recipe.v_codec}) {
    const std::int64_t metadata = row_metadata_bytes(codec, spec.head_dim);
    bytes.metadata += spec.n_kv_heads * metadata;
    bytes.elements += spec.n_kv_heads * (row_bytes(codec, spec.head_dim) - metadata);
  }
  return bytes;
}

CacheFootprint footprint_of(const CacheRecipe& recipe, const CacheSpec& spec, const PoolShape& pool,
                            bool keeps_past, std::int64_t tokens) {
  if (!keeps_past) return {};  // what it works with is not a cache
  const TokenBytes token = token_bytes(recipe, spec);
  CacheFootprint footprint;
  footprint.formula_bytes = spec.n_layers * tokens * token.elements;
  footprint.live_bytes = spec.n_layers * tokens * token.total();
  footprint.allocated_bytes = spec.n_layers * pool.n_blocks * pool.block_tokens * token.total();
  footprint.reserved_bytes = footprint.allocated_bytes;
  footprint.metadata_bytes =
      spec.n_layers * tokens * token.metadata +
      spec.batch * pool.max_blocks * static_cast<std::int64_t>(sizeof(std::int32_t));
  return footprint;
}

std::int64_t transient_bytes(const CacheRecipe& recipe, const CacheSpec& spec) {
  const PoolShape pool =
      make_placement(recipe.placement, {static_cast<std::int32_t>(spec.batch),
                                        static_cast<std::int32_t>(spec.max_tokens)})
          ->pool();
  if (!pool.shared_by_layers) return 0;
  return pool.n_blocks * pool.block_tokens * token_bytes(recipe, spec).total();
}

CacheFootprint predict_footprint(const CacheRecipe& recipe, const CacheSpec& spec,
                                 std::int64_t n_tokens) {
  const auto placement = make_placement(
      recipe.placement,
      {static_cast<std::int32_t>(spec.batch), static_cast<std::int32_t>(spec.max_tokens)});
  return footprint_of(recipe, spec, placement->pool(), placement->keeps_past(),
                      spec.batch * n_tokens);
}

Cost step_cost(const CacheRecipe& recipe, const CacheSpec& spec, const StepPlan& plan) {
  const std::int64_t token = token_bytes(recipe, spec).total();
  Cost cost;
  for (std::int64_t layer = 0; layer < spec.n_layers; ++layer) {
    for (const StepSequence& s : plan.sequences) {
      const Visible visible = visible_of(s, spec.window(layer));
      cost.bytes_read += visible.keys * token;
      cost.bytes_written += s.n_tokens * token;
      cost.flops += 4 * visible.pairs * spec.n_heads * spec.head_dim;
    }
  }
  return cost;
}

}  // namespace kvmeter

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The cache that every combination is: one placement, a codec for K and one for V, one attention.
#pragma once

#include <memory>

#include "harness/cache/kv_cache.hpp"
#include "variants/attention/attentions.hpp"
#include "variants/codec/codecs.hpp"
#include "variants/placement/placements.hpp"

namespace kvmeter {

/// Which variants a cache is made of.
struct CacheRecipe {
  PlacementId placement = PlacementId::contiguous;
  CodecId k_codec = CodecId::f32;
  CodecId v_codec = CodecId::f32;
  AttentionId attention = AttentionId::two_pass;
};

template <class Exec>
std::unique_ptr<KvCache<Exec>> make_cache(const Exec& exec, const CacheRecipe& recipe,
                                          const CacheSpec& spec);

/// Bytes of one row of K or V in this codec, and the scales within it.
std::int64_t row_bytes(CodecId codec, std::int64_t head_dim);
std::int64_t row_metadata_bytes(CodecId codec, std::int64_t head_dim);

/// The footprint that a cache of this recipe has once every sequence holds n_tokens, without
/// allocating it.
CacheFootprint predict_footprint(const CacheRecipe& recipe, const CacheSpec& spec,
                                 std::int64_t n_tokens);

/// Bytes that attention works in on `concurrency` threads. Kokkos owns them, so that no label tells
/// of them.
template <class Exec>
std::int64_t attention_scratch_bytes(const CacheRecipe& recipe, const CacheSpec& spec,
                                     std::int64_t concurrency);

/// Bytes of K and V that a placement without a past holds for the layer at work; 0 for caches.
std::int64_t transient_bytes(const CacheRecipe& recipe, const CacheSpec& spec);

}  // namespace kvmeter

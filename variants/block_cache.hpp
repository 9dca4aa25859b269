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
  PlacementId placement = PlacementId::Contiguous;
  CodecId k_codec = CodecId::f32;
  CodecId v_codec = CodecId::f32;
  AttentionId attention = AttentionId::two_pass;
};

template <class Exec>
std::unique_ptr<KvCache<Exec>> make_cache(const Exec& exec, const CacheRecipe& recipe,
                                          const CacheSpec& spec);

/// Bytes of one row of K or V in this codec, and what of it is no element: scales and padding.
std::int64_t row_bytes(CodecId codec, std::int64_t head_dim);
std::int64_t row_metadata_bytes(CodecId codec, std::int64_t head_dim);

/// What sequences hold when a footprint is asked for.
struct HeldTokens {
  std::int64_t each = 0;  // tokens of every sequence
  std::int64_t prefilled =
      0;                    // of them: in steps of max_step_tokens, the others one by one; 0: all
  std::int64_t shared = 0;  // of them: common to all sequences, and forked from the first
  std::int64_t most_per_step = 0;  // where a prefill's steps are shorter than max_step_tokens
};

/// The footprint of a cache of this recipe once it holds these tokens, without allocating it.
CacheFootprint predict_footprint(const CacheRecipe& recipe, const CacheSpec& spec,
                                 const HeldTokens& held);

/// The part of it that one layer has; tables and staging belong to no layer.
CacheFootprint predict_layer_footprint(const CacheRecipe& recipe, const CacheSpec& spec,
                                       std::int64_t layer, const HeldTokens& held);

/// The most bytes that are allocated on the way there: more where memory grows by copying.
std::int64_t predict_peak_bytes(const CacheRecipe& recipe, const CacheSpec& spec,
                                const HeldTokens& held);

/// Bytes that attention works in on `concurrency` threads. Kokkos owns them, so that no label tells
/// of them.
template <class Exec>
std::int64_t attention_scratch_bytes(const CacheRecipe& recipe, const CacheSpec& spec,
                                     std::int64_t concurrency);

/// Bytes that attention works in besides, allocated with the cache.
template <class Exec>
std::int64_t attention_workspace_bytes(const Exec& exec, const CacheRecipe& recipe,
                                       const CacheSpec& spec);

/// Bytes of K and V that a placement without a past holds for the layer at work; 0 for caches.
std::int64_t transient_bytes(const CacheRecipe& recipe, const CacheSpec& spec);

}  // namespace kvmeter

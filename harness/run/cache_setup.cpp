// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/cache_setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "harness/core/error.hpp"
#include "harness/model/generation.hpp"
#include "harness/run/registry.hpp"
#include "variants/footprint.hpp"

namespace kvmeter::run {
namespace {

std::vector<std::int64_t> effective_windows(const Point& point, const ModelConfig& config) {
  std::vector<std::int64_t> windows = config.windows;
  windows.resize(static_cast<std::size_t>(config.n_layers), 0);
  for (std::int64_t& window : windows)
    if (point.window_tokens > 0)
      window = window > 0 ? std::min(window, point.window_tokens) : point.window_tokens;
  return windows;
}

/// Prompt tokens of a sequence in a step. A ring's memory grows with its steps, so that it takes
/// prompts in chunks, whether asked to or not.
std::int64_t effective_chunk(const Point& point, const std::vector<std::int64_t>& windows) {
  constexpr std::int64_t ring_chunk = 256;
  const std::int64_t prompt = point.prompt_tokens;
  if (point.prefill_chunk > 0) return std::min(point.prefill_chunk, prompt);
  if (!forgets_beyond_window(recipe_of(point).placement)) return prompt;
  std::int64_t chunk = std::min(ring_chunk, prompt);
  for (const std::int64_t window : windows)
    if (window > 0) chunk = std::min(chunk, window);
  return chunk;
}

/// Rows of a pool whose blocks a prefix is shared in: the prefix once, and of each sequence what it
/// has for itself; and enough for the check of the first steps. 0: as many as all sequences have
std::int64_t pool_tokens(const Point& point, std::int64_t max_tokens) {
  const std::int64_t size = point.block_tokens;
  if (point.shared_prefix_tokens == 0 || !shares_blocks(recipe_of(point).placement)) return 0;
  const auto blocks = [&](std::int64_t tokens) { return (tokens + size - 1) / size; };
  const std::int64_t shared = point.shared_prefix_tokens / size;
  const std::int64_t needed = shared + point.batch * (blocks(max_tokens) - shared);
  const std::int64_t checked = 2 * blocks(std::min(max_tokens, most_checked_tokens + 4));
  return size * std::max(needed, std::min(checked, point.batch * blocks(max_tokens)));
}

void check_prefix(const Point& point) {
  if (point.shared_prefix_tokens > 0 && point.shared_prefix_tokens >= point.prompt_tokens)
    throw UsageError(fmt::format("shared_prefix_tokens {}: expected less than the {} of a prompt",
                                 point.shared_prefix_tokens, point.prompt_tokens));
}

/// What needs rows of earlier steps.
void check_past(const Point& p, PlacementId placement) {
  if (keeps_past(placement)) return;
  for (const auto& [asked, key] : {std::pair{p.prefill_chunk > 0, "prefill_chunk"},
                                   std::pair{p.shared_prefix_tokens > 0, "shared_prefix_tokens"},
                                   std::pair{p.offload_layers > 0, "offload_layers"},
                                   std::pair{p.prefill == "synthetic", "prefill = synthetic"}})
    if (asked) unsupported("cache = {} with {}: it keeps nothing from step to step", p.cache, key);
}

void check_windows(const Point& point, PlacementId placement, const CacheSpec& spec) {
  if (std::ranges::any_of(spec.windows, [](auto window) { return window > 0; })) return;
  if (forgets_beyond_window(placement))
    unsupported("cache = {}: no layer has a window; expected window_tokens from 1", point.cache);
  if (point.sink_tokens > 0)
    unsupported("sink_tokens = {}: no layer has a window; expected window_tokens from 1",
                point.sink_tokens);
}

void check_scale(const Point& point, const CacheRecipe& recipe) {
  if (parse_enum<Fp8Scale>(point.fp8_scale) == Fp8Scale::none) return;
  if (recipe.k_codec != CodecId::fp8_e4m3 && recipe.v_codec != CodecId::fp8_e4m3)
    unsupported("fp8_scale = {}: neither K nor V is fp8_e4m3", point.fp8_scale);
  if (point.prefill == "synthetic")
    unsupported("fp8_scale = {} with prefill = synthetic: it is measured on a computed prompt",
                point.fp8_scale);
}

void check_offload(const Point& point, PlacementId placement, const CacheSpec& spec) {
  if (point.offload_layers > spec.n_layers)
    throw UsageError(fmt::format("offload_layers {}: the model has {} layers", point.offload_layers,
                                 spec.n_layers));
  if (!maps_pages(placement)) return;
  if (point.offload_layers > 0)
    unsupported("cache = {} with offload_layers: pages are mapped in the first memory space only",
                point.cache);
  if (parse_enum<Backend>(point.backend) == Backend::cuda)
    unsupported("cache = {} with backend = cuda: pages are mapped on the host only", point.cache);
}

}  // namespace

CacheSpec cache_spec(const ModelConfig& config, std::int64_t batch, std::int64_t max_tokens) {
  return {.n_layers = config.n_layers,
          .n_heads = config.n_heads,
          .n_kv_heads = config.n_kv_heads,
          .head_dim = config.head_dim,
          .batch = batch,
          .max_tokens = max_tokens,
          .windows = config.windows};
}

CacheSpec cache_spec(const Point& point, const ModelConfig& config, std::int64_t max_tokens) {
  CacheSpec spec = cache_spec(config, point.batch, max_tokens);
  spec.windows = effective_windows(point, config);
  spec.max_step_tokens = effective_chunk(point, spec.windows);
  spec.sink_tokens = point.sink_tokens;
  spec.block_tokens = point.block_tokens;
  spec.offload_layers = point.offload_layers;
  spec.pool_tokens = pool_tokens(point, max_tokens);
  return spec;
}

void check_cache(const Point& point, const CacheSpec& spec) {
  const CacheRecipe recipe = recipe_of(point);
  check_prefix(point);
  check_past(point, recipe.placement);
  check_windows(point, recipe.placement, spec);
  check_scale(point, recipe);
  check_offload(point, recipe.placement, spec);
  check_layout(recipe, spec);
}

}  // namespace kvmeter::run

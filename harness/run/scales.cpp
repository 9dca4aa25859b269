// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/scales.hpp"

#include "harness/run/cache_setup.hpp"

#include <algorithm>

namespace kvmeter::run {
namespace {

/// The largest |element| of f32 rows of the one sequence of a cache, of K or V in one layer.
struct LargestElement {
  LayerCache cache;
  bool is_v;
  std::int32_t n_tokens;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t index, float& largest) const {
    const auto channel = static_cast<std::int32_t>(index % cache.head_dim);
    const auto head = static_cast<std::int32_t>(index / cache.head_dim % cache.n_kv_heads);
    const auto position = static_cast<std::int32_t>(index / cache.head_dim / cache.n_kv_heads);
    const std::byte* row = is_v ? cache.v_row(0, head, position) : cache.k_row(0, head, position);
    const float x = Kokkos::abs(reinterpret_cast<const float*>(row)[channel]);
    largest = x > largest ? x : largest;
  }
};

template <class Exec>
float scale_of(const Exec& exec, const LayerCache& cache, bool is_v, std::int32_t n_tokens) {
  float largest = 0;
  const Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>> policy(
      exec, 0, std::int64_t{n_tokens} * cache.n_kv_heads * cache.head_dim);
  Kokkos::parallel_reduce("kvmeter::run::largest_element", policy,
                          LargestElement{cache, is_v, n_tokens}, Kokkos::Max<float>(largest));
  return largest > 0 ? largest / FP8E4M3::largest : 1;
}

}  // namespace

bool measures_scales(const Setup& s) {
  const bool any = s.recipe.k_codec == CodecId::fp8_e4m3 || s.recipe.v_codec == CodecId::fp8_e4m3;
  return any && parse_enum<Fp8Scale>(s.point.fp8_scale) == Fp8Scale::layer;
}

ScalePass scale_pass(const Setup& s) {
  CacheSpec spec = cache_spec(s.config, 1, s.point.prompt_tokens);
  spec.windows = s.cache.windows;
  spec.sink_tokens = s.cache.sink_tokens;
  return {{PlacementId::Contiguous, CodecId::f32, CodecId::f32, AttentionId::online},
          spec,
          std::min(s.cache.max_step_tokens, step_limits(s.generation, 1).max_rows)};
}

template <class Exec>
std::vector<LayerScales> measure_scales(const Exec& exec, Decoder<Exec>& decoder, const Setup& s,
                                        const std::vector<std::vector<std::int32_t>>& prompts) {
  if (!measures_scales(s)) return {};
  const auto [recipe, spec, chunk] = scale_pass(s);
  const std::int64_t n = spec.max_tokens;
  const auto cache = make_cache(exec, recipe, spec);
  for (std::int64_t first = 0; first < n; first += chunk) {
    const std::int64_t end = std::min(first + chunk, n);
    StepPlan plan;
    plan.add(
        0, static_cast<std::int32_t>(first),
        std::vector<std::int32_t>(prompts.front().begin() + first, prompts.front().begin() + end));
    decoder.step(exec, plan, *cache);
    exec.fence("kvmeter::run::scales: the plan is written anew");
  }
  std::vector<LayerScales> scales;
  for (std::int64_t layer = 0; layer < s.config.n_layers; ++layer) {
    const LayerCache rows = cache->layer(layer);
    scales.push_back({scale_of(exec, rows, false, static_cast<std::int32_t>(n)),
                      scale_of(exec, rows, true, static_cast<std::int32_t>(n))});
  }
  return scales;
}

#define KVMETER_INSTANTIATE(Exec)                                                             \
  template std::vector<LayerScales> measure_scales(const Exec&, Decoder<Exec>&, const Setup&, \
                                                   const std::vector<std::vector<std::int32_t>>&);
KVMETER_FOR_EACH_EXEC(KVMETER_INSTANTIATE)
#undef KVMETER_INSTANTIATE

}  // namespace kvmeter::run

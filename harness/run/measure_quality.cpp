// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/measure_quality.hpp"

#include <algorithm>
#include <array>

#include "harness/exec/spaces.hpp"
#include "harness/run/cache_setup.hpp"
#include "harness/run/prompts.hpp"
#include "harness/run/quality.hpp"

namespace kvmeter::run {
namespace {

constexpr CacheRecipe reference_recipe{PlacementId::Contiguous, CodecId::f32, CodecId::f32,
                                       AttentionId::two_pass};

CacheRecipe with_past(CacheRecipe recipe) {
  if (!keeps_past(recipe.placement)) recipe.placement = PlacementId::Contiguous;
  return recipe;
}

/// A cache for one sequence in steps of `chunk`.
CacheSpec for_one_sequence(CacheSpec spec, std::int64_t n_tokens, std::int64_t chunk) {
  spec.batch = 1;
  spec.max_tokens = n_tokens;
  spec.max_step_tokens = chunk;
  spec.pool_tokens = 0;  // as many as the sequence needs
  return spec;
}

}  // namespace

QualityPass quality_pass(const Setup& s) {
  const std::int64_t n = s.point.prompt_tokens;
  const std::int64_t chunk = std::min(quality_chunk, n);
  return {reference_recipe, with_past(s.recipe),
          for_one_sequence(cache_spec(s.config, 1, n), n, chunk),
          for_one_sequence(s.cache, n, chunk), chunk};
}

bool has_quality(const Setup& s) {
  return !s.point.text.empty() && !s.random_weights() && !s.point.tie_layers &&
         s.point.prefill == "compute" && s.point.prompt_tokens > 1;
}

std::vector<std::vector<std::int32_t>> scored_prompts(
    const std::vector<std::vector<std::int32_t>>& prompts) {
  std::vector<std::vector<std::int32_t>> scored;
  std::int64_t n_tokens = 0;
  for (const auto& prompt : prompts) {
    if (std::ranges::find(scored, prompt) != scored.end()) continue;
    n_tokens += std::ssize(prompt);
    if (n_tokens > most_quality_tokens && !scored.empty()) break;
    scored.push_back(prompt);
  }
  return scored;
}

template <class Exec>
void measure_quality(const Setup& s, Session<Exec>& session, WeightsStore& weights,
                     PointRecord& record) {
  session.generation.reset();
  session.cache.reset();
  session.decoder.reset();
  const QualityPass pass = quality_pass(s);
  const Exec& exec = session.exec;
  const auto reference = make_cache(exec, pass.reference_recipe, pass.reference);
  const auto cache = make_cache(exec, pass.recipe, pass.cache);
  session.set_scales(*cache);
  Decoder<Exec> decoder(exec, s.config, weights.get(exec, s),
                        quality_limits(pass.cache.max_tokens, pass.chunk, cache->tile_queries()),
                        s.element);
  const std::array<KvCache<Exec>*, 1> caches{cache.get()};
  const auto results = evaluate_quality<Exec>(exec, decoder, *reference, caches,
                                              scored_prompts(make_prompts(s)), pass.chunk);
  put_quality(results.front(), record);
}

#define KVMETER_INSTANTIATE(Exec) \
  template void measure_quality<Exec>(const Setup&, Session<Exec>&, WeightsStore&, PointRecord&);
KVMETER_FOR_EACH_EXEC(KVMETER_INSTANTIATE)
#undef KVMETER_INSTANTIATE

}  // namespace kvmeter::run

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/units.hpp"
#include "harness/exec/memory.hpp"
#include "harness/exec/threads.hpp"
#include "harness/run/measure_quality.hpp"
#include "harness/run/quality.hpp"
#include "harness/run/scales.hpp"
#include "variants/footprint.hpp"

namespace kvmeter::run {
namespace {

/// The shape of a step that brings tokens [first, first + n) of every sequence; it has no ids.
StepPlan plan_of(const Setup& s, std::int64_t first, std::int64_t n) {
  StepPlan plan;
  for (std::int64_t i = 0; i < s.point.batch; ++i)
    plan.sequences.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(first),
                              static_cast<std::int32_t>(n)});
  return plan;
}

/// Without logits.
Cost cost_of(const Setup& s, const StepPlan& plan) {
  return layers_cost(s.config, s.element, plan.n_rows()) + step_cost(s.recipe, s.cache, plan);
}

/// All steps of the prefill; a prefix in common is computed for one sequence. Logits are those of
/// the last positions, and only where a token is chosen.
Cost prefill_cost(const Setup& s) {
  Cost cost;
  const auto add = [&](std::int64_t n_sequences, std::int64_t from, std::int64_t to) {
    for (std::int64_t first = from; first < to; first += s.generation.prefill_chunk) {
      StepPlan plan = plan_of(s, first, std::min(s.generation.prefill_chunk, to - first));
      plan.sequences.resize(static_cast<std::size_t>(n_sequences));
      cost += cost_of(s, plan);
    }
  };
  const std::int64_t shared = s.point.shared_prefix_tokens;
  add(1, 0, shared);
  add(s.point.batch, shared, s.point.prompt_tokens);
  if (s.point.new_tokens > 0) cost += head_cost(s.config, s.element, s.point.batch);
  return cost;
}

/// The decode step in the middle of the generation; without a cache it brings the whole sequence.
StepPlan middle_step(const Setup& s) {
  const std::int64_t position = s.point.prompt_tokens + s.point.new_tokens / 2 - 1;
  if (s.generation.keeps_past) return plan_of(s, position, 1);
  return plan_of(s, 0, position + 1);
}

std::int32_t int32(std::int64_t n) {
  return static_cast<std::int32_t>(n);
}

/// What steps of this cache work in: the decoder's activations and the attention's.
template <class Exec>
std::int64_t working_bytes(const Setup& s, const CacheRecipe& recipe, const CacheSpec& cache,
                           const StepLimits& limits) {
  const Exec exec = make_exec<Exec>(s.point.threads);
  return decoder_workspace_bytes<Exec>(s.config, limits, s.element) +
         attention_workspace_bytes(exec, recipe, cache) +
         attention_scratch_bytes<Exec>(recipe, cache, thread_count(exec));
}

template <class Exec>
std::int32_t tile_queries(const Setup& s) {
  return attention::tile_queries<Exec>(int32(s.config.n_heads), int32(s.config.n_kv_heads));
}

std::int64_t activations_bytes(const Setup& s) {
  return visit_backend(s.backend, [&](auto tag) {
    using Exec = typename decltype(tag)::type;
    const std::int64_t made_up =
        s.synthetic_prefill() ? MadeUpRows<Exec>::bytes(s.config.kv_dim()) : 0;
    return working_bytes<Exec>(s, s.recipe, s.cache,
                               step_limits(s.generation, tile_queries<Exec>(s))) +
           token_choice_bytes(s.generation.sampling, s.point.batch, s.config.vocab_size) + made_up +
           transient_bytes(s.recipe, s.cache);
  });
}

/// The pass that measures scales has the decoder of the point and a cache of its own.
std::int64_t scale_pass_bytes(const Setup& s) {
  const ScalePass pass = scale_pass(s);
  return visit_backend(s.backend, [&](auto tag) {
    using Exec = typename decltype(tag)::type;
    return predict_peak_bytes(pass.recipe, pass.cache, {.each = pass.cache.max_tokens}) +
           working_bytes<Exec>(s, pass.recipe, pass.cache,
                               step_limits(s.generation, tile_queries<Exec>(s)));
  });
}

std::int64_t quality_bytes(const Setup& s) {
  const QualityPass pass = quality_pass(s);
  const HeldTokens held{.each = pass.cache.max_tokens};
  return visit_backend(s.backend, [&](auto tag) {
    using Exec = typename decltype(tag)::type;
    return predict_peak_bytes(pass.reference_recipe, pass.reference, held) +
           predict_peak_bytes(pass.recipe, pass.cache, held) +
           4 * pass.chunk * s.config.vocab_size +  // the reference's logits
           working_bytes<Exec>(s, pass.recipe, pass.cache,
                               quality_limits(held.each, pass.chunk, tile_queries<Exec>(s)));
  });
}

/// The steps of one sequence of n tokens through a cache.
Cost pass_cost(const Setup& s, const CacheRecipe& recipe, const CacheSpec& cache, std::int64_t n,
               std::int64_t chunk) {
  Cost cost;
  for (std::int64_t first = 0; first < n; first += chunk) {
    StepPlan plan;
    plan.sequences.push_back({0, int32(first), int32(std::min(chunk, n - first))});
    cost += layers_cost(s.config, s.element, plan.n_rows()) + step_cost(recipe, cache, plan);
  }
  return cost;
}

Cost scale_pass_cost(const Setup& s) {
  const ScalePass pass = scale_pass(s);
  return pass_cost(s, pass.recipe, pass.cache, pass.cache.max_tokens, pass.chunk);
}

/// Every prompt that is scored goes through the decoder once for each of the two caches, with the
/// logits of every token.
Cost quality_cost(const Setup& s) {
  const QualityPass pass = quality_pass(s);
  const std::int64_t n = pass.cache.max_tokens;
  Cost cost = pass_cost(s, pass.reference_recipe, pass.reference, n, pass.chunk) +
              pass_cost(s, pass.recipe, pass.cache, n, pass.chunk);
  const std::int64_t n_steps = (n + pass.chunk - 1) / pass.chunk;
  cost += 2 * n_steps * head_cost(s.config, s.element, pass.chunk);
  return std::clamp<std::int64_t>(most_quality_tokens / n, 1, s.point.batch) * cost;
}

}  // namespace

Prediction predict(const Setup& s) {
  Prediction p;
  p.weights_bytes = weights_bytes(weights_config(s), s.element);
  p.cache = predict_footprint(s.recipe, s.cache, held_tokens(s));
  p.cache_peak_bytes = predict_peak_bytes(s.recipe, s.cache, held_tokens(s));
  p.activations_bytes = activations_bytes(s);
  if (!s.synthetic_prefill()) p.prefill = prefill_cost(s);
  p.decode_steps = std::max<std::int64_t>(s.point.new_tokens - 1, 0);
  if (p.decode_steps > 0)
    p.decode = cost_of(s, middle_step(s)) + head_cost(s.config, s.element, s.point.batch);
  if (measures_scales(s)) {
    p.scale_pass_bytes = scale_pass_bytes(s);
    p.scale_pass = scale_pass_cost(s);
  }
  if (!has_quality(s)) return p;
  p.quality_bytes = quality_bytes(s);
  p.quality = quality_cost(s);
  return p;
}

std::string memory_shortage(const Prediction& p, std::int64_t limit_bytes,
                            std::int64_t held_bytes) {
  const std::int64_t available = available_memory_bytes().value_or(0);
  const std::int64_t limit =
      limit_bytes > 0 || available == 0 ? limit_bytes : available + held_bytes;
  if (limit == 0 || p.total_bytes() <= limit) return {};
  const auto or_else = [](const char* pass, std::int64_t bytes) {
    return bytes > 0 ? fmt::format("; or {} {}", pass, format_bytes(bytes)) : std::string();
  };
  return fmt::format("needs {} (weights {}, cache {}, activations {}{}{}); {} are {}",
                     format_bytes(p.total_bytes()), format_bytes(p.weights_bytes),
                     format_bytes(p.cache_peak_bytes), format_bytes(p.activations_bytes),
                     or_else("scales", p.scale_pass_bytes), or_else("quality", p.quality_bytes),
                     format_bytes(limit), limit_bytes > 0 ? "allowed" : "available");
}

}  // namespace kvmeter::run

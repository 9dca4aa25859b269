// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/core/units.hpp"
#include "harness/exec/memory.hpp"
#include "harness/exec/threads.hpp"
#include "harness/run/measure_quality.hpp"
#include "harness/run/quality.hpp"
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

Cost cost_of(const Setup& s, const StepPlan& plan) {
  return decoder_cost(s.config, s.element, plan) + step_cost(s.recipe, s.cache, plan);
}

/// All steps of the prefill; a prefix in common is computed for one sequence.
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

std::int64_t activations_bytes(const Setup& s) {
  return visit_backend(s.backend, [&](auto tag) {
    using Exec = typename decltype(tag)::type;
    const Exec exec = make_exec<Exec>(s.point.threads);
    const StepLimits limits = step_limits(
        s.generation,
        attention::tile_queries<Exec>(int32(s.config.n_heads), int32(s.config.n_kv_heads)));
    const std::int64_t made_up =
        s.synthetic_prefill() ? MadeUpRows<Exec>::bytes(s.config.kv_dim()) : 0;
    return decoder_workspace_bytes<Exec>(s.config, limits, s.element) + made_up +
           attention_workspace_bytes(exec, s.recipe, s.cache) +
           attention_scratch_bytes<Exec>(s.recipe, s.cache, thread_count(exec)) +
           transient_bytes(s.recipe, s.cache);
  });
}

std::int64_t quality_bytes(const Setup& s) {
  const QualityPass pass = quality_pass(s);
  const HeldTokens held{.each = pass.cache.max_tokens};
  return visit_backend(s.backend, [&](auto tag) {
    using Exec = typename decltype(tag)::type;
    const Exec exec = make_exec<Exec>(s.point.threads);
    const StepLimits limits = quality_limits(
        held.each, pass.chunk,
        attention::tile_queries<Exec>(int32(s.config.n_heads), int32(s.config.n_kv_heads)));
    return predict_peak_bytes(pass.reference_recipe, pass.reference, held) +
           predict_peak_bytes(pass.recipe, pass.cache, held) +
           decoder_workspace_bytes<Exec>(s.config, limits, s.element) +
           attention_workspace_bytes(exec, pass.recipe, pass.cache) +
           attention_scratch_bytes<Exec>(pass.recipe, pass.cache, thread_count(exec));
  });
}

/// Every prompt that is scored goes through the decoder once for each of the two caches.
Cost quality_cost(const Setup& s) {
  const QualityPass pass = quality_pass(s);
  const std::int64_t n = pass.cache.max_tokens;
  Cost cost;
  for (std::int64_t first = 0; first < n; first += pass.chunk) {
    StepPlan plan;
    plan.sequences.push_back({0, int32(first), int32(std::min(pass.chunk, n - first))});
    cost += decoder_cost(s.config, s.element, plan) + decoder_cost(s.config, s.element, plan) +
            step_cost(pass.reference_recipe, pass.reference, plan) +
            step_cost(pass.recipe, pass.cache, plan);
  }
  cost.flops += 2 * 2 * n * s.config.hidden_dim * s.config.vocab_size;  // logits of every token
  return std::clamp<std::int64_t>(most_quality_tokens / n, 1, s.point.batch) * cost;
}

double step_seconds(const Cost& cost, const Rates& rates) {
  return std::max(static_cast<double>(cost.bytes_read) / rates.bytes_per_s,
                  static_cast<double>(cost.flops) / rates.flops_per_s);
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
  if (p.decode_steps > 0) p.decode = cost_of(s, middle_step(s));
  if (!has_quality(s)) return p;
  p.quality_bytes = quality_bytes(s);
  p.quality = quality_cost(s);
  return p;
}

double generation_seconds(const Prediction& p, const Rates& rates) {
  return step_seconds(p.prefill, rates) +
         static_cast<double>(p.decode_steps) * step_seconds(p.decode, rates);
}

double point_seconds(const Prediction& p, const Rates& rates, const StopRule& rule) {
  const double one = generation_seconds(p, rates);
  const double wanted =
      one * static_cast<double>(rule.min_samples + 1);        // each prefill is one sample
  const double capped = std::max(rule.max_seconds, 2 * one);  // warm-up and one sample
  return std::min(wanted, capped) + step_seconds(p.quality, rates);
}

std::string memory_shortage(const Prediction& p, std::int64_t limit_bytes) {
  const std::int64_t limit = limit_bytes > 0 ? limit_bytes : available_memory_bytes().value_or(0);
  if (limit == 0 || p.total_bytes() <= limit) return {};
  const std::string quality =
      p.quality_bytes > 0 ? fmt::format("; or quality {}", format_bytes(p.quality_bytes)) : "";
  return fmt::format("needs {} (weights {}, cache {}, activations {}{}); {} are {}",
                     format_bytes(p.total_bytes()), format_bytes(p.weights_bytes),
                     format_bytes(p.cache_peak_bytes), format_bytes(p.activations_bytes), quality,
                     format_bytes(limit), limit_bytes > 0 ? "allowed" : "available");
}

}  // namespace kvmeter::run

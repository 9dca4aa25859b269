// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/setup.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/error.hpp"
#include "harness/exec/threads.hpp"
#include "harness/model/checkpoint.hpp"
#include "harness/run/cache_setup.hpp"
#include "harness/run/prompts.hpp"
#include "harness/run/registry.hpp"

namespace kvmeter::run {
namespace {

Element weight_element(const Point& point, const ModelConfig& config) {
  if (point.weight_element != "model") return parse_enum<Element>(point.weight_element);
  return config.element.value_or(Element::bf16);
}

ops::SamplingParameters sampling_parameters(const Point& point, std::uint64_t seed) {
  return {parse_enum<Sampling>(point.sampling) == Sampling::greedy,
          static_cast<float>(point.temperature), static_cast<std::int32_t>(point.top_k),
          point.top_p, seed};
}

/// Tokens of a sequence that the decoder is fed: the last one that is generated is not.
std::int64_t fed_tokens(const Point& point) {
  return point.prompt_tokens + std::max<std::int64_t>(point.new_tokens, 1) - 1;
}

void check_shape(const Setup& s) {
  const std::int64_t tokens = fed_tokens(s.point);
  // Angles go on beyond what a model was trained for; with made-up weights that is no mistake.
  const bool any_position = s.random_weights() && s.config.positions == Positions::rope;
  if (tokens > s.config.max_positions && !any_position)
    throw UsageError(fmt::format("prompt_tokens {} and new_tokens {} take {} positions; {} has {}",
                                 s.point.prompt_tokens, s.point.new_tokens, tokens, s.files.name,
                                 s.config.max_positions));
  const bool reshaped = s.point.kv_heads != "model" || s.point.n_layers != 0;
  if (reshaped && !s.random_weights())
    throw UsageError(
        fmt::format("kv_heads {} and n_layers {}: with weights = checkpoint only the model's own "
                    "are allowed (kv_heads = model, n_layers = 0)",
                    s.point.kv_heads, s.point.n_layers));
}

void check_tied(const Setup& s) {
  if (s.point.tie_layers && !s.random_weights())
    throw UsageError("tie_layers = true: needs weights = random; a checkpoint has its own layers");
}

GenerationSpec generation_spec(const Setup& s) {
  return {s.max_tokens(),
          s.point.batch,
          s.point.new_tokens,
          s.point.prompt_tokens,
          s.cache.max_step_tokens,
          s.point.shared_prefix_tokens,
          parse_enum<Prefill>(s.point.prefill) == Prefill::synthetic,
          keeps_past(s.recipe.placement),
          s.point.ignore_eos,
          sampling_parameters(s.point, s.seed)};
}

}  // namespace

Setup make_setup(const Point& point, std::uint64_t seed) {
  Setup s;
  s.point = point;
  s.seed = seed;
  s.files = find_model(point.model, parse_enum<Weights>(point.weights));
  s.config = read_model_config(s.files.config);
  reshape(s.config, point.kv_heads, point.n_layers);
  s.backend = parse_enum<Backend>(point.backend);
  if (s.backend == Backend::openmp) check_threads(point.threads);
  s.element = weight_element(point, s.config);
  s.recipe = recipe_of(point);
  s.cache = cache_spec(point, s.config, fed_tokens(point));
  s.generation = generation_spec(s);
  check_shape(s);
  check_tied(s);
  check_cache(point, s.cache);
  if (!point.text.empty()) text_tokens(s);
  if (!s.random_weights()) bind_tensors(s.config, Checkpoint::open(s.files.weights));
  return s;
}

HeldTokens held_tokens(const Setup& s) {
  return {.each = s.max_tokens(),
          .prefilled = s.point.prompt_tokens,
          .shared = s.point.shared_prefix_tokens,
          .most_per_step = s.synthetic_prefill() ? made_up_rows : 0};
}

ModelConfig weights_config(const Setup& s) {
  ModelConfig config = s.config;
  if (s.point.tie_layers) {
    config.n_layers = 1;
    config.windows.resize(1);
  }
  return config;
}

std::int64_t effective_threads(const Setup& s) {
  return visit_backend(s.backend, [&](auto tag) {
    return std::int64_t{thread_count(make_exec<typename decltype(tag)::type>(s.point.threads))};
  });
}

}  // namespace kvmeter::run

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// A point turned into what it takes to run it: files, shapes, limits, prompts. Everything that can
// be wrong with a point is found here, before anything of size is allocated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/core/point.hpp"
#include "harness/model/generation.hpp"
#include "harness/run/models.hpp"
#include "variants/block_cache.hpp"

namespace kvmeter::run {

struct Setup {
  Point point;
  std::uint64_t seed = 1;
  ModelFiles files;
  ModelConfig config;  // re-shaped as the point asks
  Backend backend = Backend::openmp;
  Element element = Element::bf16;  // of the weights
  CacheRecipe recipe;
  CacheSpec cache;
  GenerationSpec generation;

  [[nodiscard]] bool synthetic_prefill() const { return generation.synthetic_prefill; }
  [[nodiscard]] bool random_weights() const { return point.weights == "random"; }
  [[nodiscard]] std::int64_t max_tokens() const { return cache.max_tokens; }
};

/// Throws UsageError naming key, value and what is allowed; UnsupportedError where a combination is
/// not done.
Setup make_setup(const Point& point, std::uint64_t seed);

/// The cache of a model for these sequences, with its own windows.
CacheSpec cache_spec(const ModelConfig& config, std::int64_t batch, std::int64_t max_tokens);

/// Each layer's window: the point's where it is shorter than the model's.
std::vector<std::int64_t> effective_windows(const Point& point, const ModelConfig& config);

/// Prompt tokens of a sequence in a step. A ring's memory grows with its steps, so that it takes
/// prompts in chunks, whether asked to or not. \param windows [n_layers]
std::int64_t effective_chunk(const Point& point, const std::vector<std::int64_t>& windows);

/// What sequences hold when a generation of the setup has ended.
HeldTokens held_tokens(const Setup& setup);

/// The config whose weights are held: of one layer where layers are tied.
ModelConfig weights_config(const Setup& setup);

/// [batch] prompts of prompt_tokens ids: cut from the text one after the other (from its start
/// again where it ends), or made up from the seed. Throws UsageError where the text is too short or
/// has ids outside the vocabulary.
std::vector<std::vector<std::int32_t>> make_prompts(const Setup& setup);

/// Threads of the back end; those that 0 stands for.
std::int64_t effective_threads(const Setup& setup);

/// What a change of must lead to another point hash, besides the point's own spelling: config,
/// weights, text, seed, program, and the number of threads that 0 stands for.
std::vector<std::string> hash_parts(const Setup& setup);

}  // namespace kvmeter::run

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// A point turned into what it takes to run it: files, shapes, limits. Everything that can be
// wrong with a point is found here, before anything of size is allocated.
#pragma once

#include <cstdint>

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

/// What sequences hold when a generation of the setup has ended.
HeldTokens held_tokens(const Setup& setup);

/// The config whose weights are held: of one layer where layers are tied.
ModelConfig weights_config(const Setup& setup);

/// Threads of the back end; those that 0 stands for.
std::int64_t effective_threads(const Setup& setup);

}  // namespace kvmeter::run

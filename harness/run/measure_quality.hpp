// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The quality of a point: its cache beside an f32 one with the same weights, over the point's own
// prompts, in a pass of its own after everything that is timed.
#pragma once

#include "harness/core/record.hpp"
#include "harness/run/session.hpp"

namespace kvmeter::run {

/// Tokens of a step, and rows of logits in memory on each side: 33 MB of a vocabulary of 128,000.
/// Tried with SmolLM2 on 2 cores: 2,048 tokens take 4.6 s a cache at 64 and at 128, 3.5 s at 256.
inline constexpr std::int64_t quality_chunk = 64;

/// Prompts are scored until they have this many tokens together; the first always is, whole.
inline constexpr std::int64_t most_quality_tokens = 8192;

/// Does the point's text mean anything to the model? Only real weights, and all of them, predict
/// it, and only computed rows of K and V.
bool has_quality(const Setup& setup);

/// What the pass runs one sequence through at a time.
struct QualityPass {
  CacheRecipe reference_recipe, recipe;
  CacheSpec reference, cache;
  std::int64_t chunk = 1;  // tokens of a step
};

/// The reference (contiguous, f32, two_pass) sees the windows of the model, the point's cache those
/// of the point, so that what a window leaves out shows. A point without a cache is evaluated as
/// contiguous, whose logits are the same bits (tests/contract).
QualityPass quality_pass(const Setup& setup);

/// The distinct prompts that are scored, in their order. [n][prompt_tokens]
std::vector<std::vector<std::int32_t>> scored_prompts(
    const std::vector<std::vector<std::int32_t>>& prompts);

/// Puts n_scored, nll_mean, kl_mean and so on into the record. Frees decoder, cache and generation
/// of the session first: the pass has its own, for one sequence at a time, and shares the weights.
template <class Exec>
void measure_quality(const Setup& setup, Session<Exec>& session, WeightsStore& weights,
                     PointRecord& record);

}  // namespace kvmeter::run

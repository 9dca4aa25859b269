// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What a cache does to a model's predictions: caches beside a reference on the same tokens, in one
// pass over them, with logits of one chunk in memory and no more. No clock runs here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/core/record.hpp"
#include "harness/measure/running_mean.hpp"
#include "harness/model/decoder.hpp"
#include "harness/ops/compare_logits.hpp"

namespace kvmeter::run {

/// Of one cache, over all tokens so far that have a token before them.
struct Quality {
  measure::RunningMean nll;  // of the next token, nats
  measure::RunningMean nll_reference;
  measure::RunningMean kl;        // KL(reference || cache), nats
  measure::RunningMean same_top;  // 1 where both have the same most likely token, else 0
  double kl_max = 0;

  void add(const ops::RowComparison& row);

  /// sqrt(p (1 - p) / n) of the agreement p.
  [[nodiscard]] double same_top_standard_error() const;
};

/// n_scored, nll_mean and so on. A standard error of one token is none and stays out, as does what
/// came out as NaN.
void put_quality(const Quality& quality, PointRecord& record);

/// Limits of a decoder that evaluates sequences of up to n_tokens, `chunk` of them a step. Its
/// activations stay f32, so that a result tells of the cache and not of the processor.
StepLimits quality_limits(std::int64_t n_tokens, std::int64_t chunk, std::int32_t tile_queries);

/// Teacher-forced: each sequence by itself, in steps of up to `chunk` tokens that the reference and
/// then each cache takes, so that every token but the first is predicted from all before it. The
/// size of steps changes no bit where rows of the decoder's matmul do not depend on their number
/// (on the host: up to ops::most_few_rows), and last bits beyond.
/// \pre the decoder has at least quality_limits, the caches a slot for sequences as long and steps
/// of `chunk`; they are empty (and left so) and keep the past: `none` is evaluated as contiguous,
/// whose logits are the same bits (tests/contract).
/// \return [caches]
template <class Exec>
std::vector<Quality> evaluate_quality(const Exec& exec, Decoder<Exec>& decoder,
                                      KvCache<Exec>& reference,
                                      std::span<KvCache<Exec>* const> caches,
                                      const std::vector<std::vector<std::int32_t>>& sequences,
                                      std::int64_t chunk);

}  // namespace kvmeter::run

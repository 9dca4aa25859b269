// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// A decoder-only transformer: one step over whatever rows a plan brings, prefill and decode alike.
// It knows a cache by its interface alone and cannot time itself.
#pragma once

#include <cstdint>

#include "harness/cache/kv_cache.hpp"
#include "harness/core/cost.hpp"
#include "harness/model/config.hpp"
#include "harness/model/weights.hpp"
#include "harness/ops/matmul.hpp"
#include "harness/ops/rope.hpp"

namespace kvmeter {

/// Largest step that a decoder has working memory for.
struct StepLimits {
  std::int64_t max_rows = 1;  // tokens of a step, over all sequences
  std::int64_t max_sequences = 1;
  std::int64_t max_positions = 1;   // of any token
  std::int64_t max_logit_rows = 1;  // rows that logits are asked for at once
  std::int32_t tile_queries = 1;    // of the cache
  bool round_activations = true;    // to the weights' element, where that is faster
};

template <class Exec>
class Decoder {
 public:
  using MemorySpace = typename Exec::memory_space;
  using Rows = Array2<float, MemorySpace>;
  using Plan = DevicePlan<MemorySpace>;

  /// Allocates all working memory; steps allocate nothing.
  Decoder(const Exec& exec, const ModelConfig& config, ModelWeights<MemorySpace> weights,
          const StepLimits& limits, Element element);

  /// Computes the hidden state of every row of the plan; K and V of its tokens go to the cache. The
  /// plan must be within the limits and the vocabulary (checked).
  const Plan& step(const Exec& exec, const StepPlan& plan, KvCache<Exec>& cache);

  /// Logits of the last token of each sequence of the latest step. \return [n_sequences,
  /// vocab_size]
  Rows last_logits(const Exec& exec);

  /// Logits of rows first .. first + n - 1 of the latest step. \return [n, vocab_size]
  Rows logits(const Exec& exec, std::int64_t first, std::int64_t n);

  /// K and V vectors computed so far: tokens x layers, over all steps.
  [[nodiscard]] std::int64_t kv_projections() const { return m_kv_projections; }
  void reset_counters() { m_kv_projections = 0; }

  [[nodiscard]] const ModelConfig& config() const { return m_config; }
  [[nodiscard]] const StepLimits& limits() const { return m_limits; }

 private:
  void layer(const Exec& exec, std::int64_t index, KvCache<Exec>& cache);
  void attention(const Exec& exec, std::int64_t index, KvCache<Exec>& cache);
  void mlp(const Exec& exec, const LayerWeights<MemorySpace>& weights);
  void linear(const Exec& exec, ops::LinearArguments<MemorySpace> arguments, std::int64_t n);
  void norm(const Exec& exec, const Rows& x, const WeightVector<MemorySpace>& scale,
            const WeightVector<MemorySpace>& shift, const Rows& out);
  Rows head(const Exec& exec, std::int64_t n);
  void check(const StepPlan& plan) const;

  ModelConfig m_config;
  ModelWeights<MemorySpace> m_weights;
  StepLimits m_limits;
  ops::RopeTable<MemorySpace> m_rope;
  ops::Matmul<Exec> m_matmul;
  PlanBuffer<Exec> m_plan_buffer;
  Plan m_plan;  // of the latest step
  std::int64_t m_kv_projections = 0;

  // Working memory, sized for the limits. A step uses the first rows.
  Rows m_hidden;     // [max_rows, hidden_dim] the residual stream
  Rows m_normed;     // [max_rows, hidden_dim]
  Rows m_qkv;        // [max_rows, q_dim + 2 kv_dim]
  Rows m_attended;   // [max_rows, q_dim]
  Rows m_up;         // [max_rows, up columns]
  Rows m_activated;  // [max_rows, ffn_dim]
  Rows m_last;       // [max_logit_rows, hidden_dim]
  Rows m_logits;     // [max_logit_rows, vocab_size]
};

/// What the linear layers of a step of so many tokens must move and compute: all that counts
/// besides the cache and the logits.
Cost layers_cost(const ModelConfig& config, Element element, std::int64_t n_rows);

/// The same of logits for so many tokens. Steps that no token is chosen after have none.
Cost head_cost(const ModelConfig& config, Element element, std::int64_t n_rows);

/// Bytes of a decoder's working memory, without allocating it.
template <class Exec>
std::int64_t decoder_workspace_bytes(const ModelConfig& config, const StepLimits& limits,
                                     Element element);

/// RoPE frequencies in radians per position, with the scaling of the config. [head_dim / 2]
std::vector<double> rope_frequencies(const ModelConfig& config);

}  // namespace kvmeter

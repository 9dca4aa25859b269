// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/decoder.hpp"

#include <algorithm>
#include <iterator>

#include "harness/exec/spaces.hpp"
#include "harness/ops/rows.hpp"

namespace kvmeter {
namespace {

/// Columns of the first MLP matrix: gate and up side by side for swiglu.
std::int64_t up_columns(const ModelConfig& c) {
  return c.activation == Activation::swiglu ? 2 * c.ffn_dim : c.ffn_dim;
}

std::int64_t qkv_columns(const ModelConfig& c) {
  return c.q_dim() + 2 * c.kv_dim();
}

ops::MatmulLimits matmul_limits(const ModelConfig& c, const StepLimits& limits, Element element) {
  const bool can_round =
      ops::can_round(c.hidden_dim) && ops::can_round(c.q_dim()) && ops::can_round(c.ffn_dim);
  return {ops::padded_rows(std::max(limits.max_rows, limits.max_logit_rows)),
          std::max({c.hidden_dim, c.q_dim(), c.ffn_dim}), element,
          limits.round_activations && can_round};
}

/// The first n rows of a matrix.
template <class Rows>
Rows first_rows(const Rows& matrix, std::int64_t n) {
  return Kokkos::subview(matrix, std::pair<std::int64_t, std::int64_t>(0, n), Kokkos::ALL);
}

}  // namespace

template <class Exec>
Decoder<Exec>::Decoder(const Exec& exec, const ModelConfig& config,
                       ModelWeights<MemorySpace> weights, const StepLimits& limits, Element element)
    : m_config(config),
      m_weights(std::move(weights)),
      m_limits(limits),
      m_matmul(exec, matmul_limits(config, limits, element)),
      m_plan_buffer(exec, limits.max_rows, limits.max_sequences, limits.tile_queries) {
  if (config.positions == Positions::rope)
    m_rope = ops::make_rope_table(exec, rope_frequencies(config), limits.max_positions);
  const auto rows = [&](const char* label, std::int64_t n, std::int64_t columns) {
    const auto matrix = allocate<Rows>(exec, std::string("kvmeter::activations::") + label,
                                       ops::padded_rows(n), columns);
    Kokkos::deep_copy(exec, matrix, 0.0F);  // touched here, so that no step pays for its pages
    return matrix;
  };
  m_hidden = rows("hidden", limits.max_rows, config.hidden_dim);
  m_normed = rows("normed", limits.max_rows, config.hidden_dim);
  m_qkv = rows("qkv", limits.max_rows, qkv_columns(config));
  m_attended = rows("attended", limits.max_rows, config.q_dim());
  m_up = rows("up", limits.max_rows, up_columns(config));
  m_activated = rows("activated", limits.max_rows, config.ffn_dim);
  m_last = rows("last", limits.max_logit_rows, config.hidden_dim);
  m_logits = rows("logits", limits.max_logit_rows, config.vocab_size);
}

template <class Exec>
const DevicePlan<typename Exec::memory_space>& Decoder<Exec>::step(const Exec& exec,
                                                                   const StepPlan& plan,
                                                                   KvCache<Exec>& cache) {
  check(plan);
  cache.reserve(exec, plan);
  m_plan = m_plan_buffer.upload(exec, plan);
  ops::embed(exec, m_plan.tokens, m_plan.positions, m_weights.embedding,
             m_weights.position_embedding, first_rows(m_hidden, m_plan.n_rows));
  for (std::int64_t i = 0; i < m_config.n_layers; ++i) layer(exec, i, cache);
  m_kv_projections += plan.n_rows() * m_config.n_layers;
  return m_plan;
}

template <class Exec>
void Decoder<Exec>::layer(const Exec& exec, std::int64_t index, KvCache<Exec>& cache) {
  const auto& weights = m_weights.layers[static_cast<std::size_t>(index)];
  const Rows hidden = first_rows(m_hidden, m_plan.n_rows);
  const Rows normed = first_rows(m_normed, m_plan.n_rows);
  norm(exec, hidden, weights.attention_norm, weights.attention_norm_bias, normed);
  linear(exec, {m_normed, weights.qkv, weights.qkv_bias, m_qkv, false}, m_plan.n_rows);
  attention(exec, index, cache);
  linear(exec, {m_attended, weights.out, weights.out_bias, m_hidden, true}, m_plan.n_rows);
  norm(exec, hidden, weights.mlp_norm, weights.mlp_norm_bias, normed);
  mlp(exec, weights);
}

template <class Exec>
void Decoder<Exec>::attention(const Exec& exec, std::int64_t index, KvCache<Exec>& cache) {
  const auto& weights = m_weights.layers[static_cast<std::size_t>(index)];
  const Rows qkv = first_rows(m_qkv, m_plan.n_rows);
  const auto columns = [&](std::int64_t first, std::int64_t n) {
    return ProjectedRows<MemorySpace>(
        Kokkos::subview(qkv, Kokkos::ALL, std::make_pair(first, first + n)));
  };
  if (m_config.positions == Positions::rope || m_config.qk_norm)
    ops::rotate(exec, ops::RotateArguments<MemorySpace>{
                          qkv, static_cast<std::int32_t>(m_config.n_heads + m_config.n_kv_heads),
                          static_cast<std::int32_t>(m_config.n_heads),
                          static_cast<std::int32_t>(m_config.head_dim), m_plan.positions, m_rope,
                          weights.q_norm, weights.k_norm, m_config.norm_epsilon});
  const std::int64_t q_dim = m_config.q_dim();
  const std::int64_t kv_dim = m_config.kv_dim();
  cache.append(exec, index, columns(q_dim, kv_dim), columns(q_dim + kv_dim, kv_dim), m_plan);
  cache.attend(exec, index, columns(0, q_dim), m_plan, first_rows(m_attended, m_plan.n_rows));
}

template <class Exec>
void Decoder<Exec>::mlp(const Exec& exec, const LayerWeights<MemorySpace>& weights) {
  const Rows up = first_rows(m_up, m_plan.n_rows);
  const Rows activated = first_rows(m_activated, m_plan.n_rows);
  linear(exec, {m_normed, weights.up, weights.up_bias, m_up, false}, m_plan.n_rows);
  if (m_config.activation == Activation::swiglu)
    ops::swiglu(exec, up, activated);
  else
    ops::gelu_tanh(exec, up, activated);
  linear(exec, {m_activated, weights.down, weights.down_bias, m_hidden, true}, m_plan.n_rows);
}

template <class Exec>
Array2<float, typename Exec::memory_space> Decoder<Exec>::last_logits(const Exec& exec) {
  ops::gather(exec, m_hidden, m_plan.last_rows, first_rows(m_last, m_plan.n_sequences));
  return head(exec, m_plan.n_sequences);
}

template <class Exec>
Array2<float, typename Exec::memory_space> Decoder<Exec>::logits(const Exec& exec,
                                                                 std::int64_t first,
                                                                 std::int64_t n) {
  KVMETER_EXPECTS(n <= m_limits.max_logit_rows, "logits of {} rows; room for {}", n,
                  m_limits.max_logit_rows);
  const Rows rows = Kokkos::subview(m_hidden, std::make_pair(first, first + n), Kokkos::ALL);
  Kokkos::deep_copy(exec, first_rows(m_last, n), rows);
  return head(exec, n);
}

/// The final norm and the output matrix over the first n rows of m_last.
template <class Exec>
Array2<float, typename Exec::memory_space> Decoder<Exec>::head(const Exec& exec, std::int64_t n) {
  const Rows last = first_rows(m_last, n);
  norm(exec, last, m_weights.final_norm, m_weights.final_norm_bias, last);
  linear(exec, {m_last, m_weights.head, {}, m_logits, false}, n);
  return first_rows(m_logits, n);
}

/// The first n rows of x and out, and those that fill them up: whatever those hold, nobody reads
/// it.
template <class Exec>
void Decoder<Exec>::linear(const Exec& exec, ops::LinearArguments<MemorySpace> arguments,
                           std::int64_t n) {
  arguments.x = first_rows(arguments.x, ops::padded_rows(n));
  arguments.out = first_rows(arguments.out, ops::padded_rows(n));
  m_matmul(exec, arguments);
}

template <class Exec>
void Decoder<Exec>::norm(const Exec& exec, const Rows& x, const WeightVector<MemorySpace>& scale,
                         const WeightVector<MemorySpace>& shift, const Rows& out) {
  const auto kind = m_config.norm == Norm::rms ? ops::NormKind::rms : ops::NormKind::layer;
  ops::normalize(exec, kind, m_config.norm_epsilon, x, scale, shift, out);
}

template <class Exec>
void Decoder<Exec>::check(const StepPlan& plan) const {
  KVMETER_EXPECTS(std::ssize(plan.tokens) == plan.n_rows(), "a step of {} tokens with {} ids",
                  plan.n_rows(), plan.tokens.size());
  for (const std::int32_t token : plan.tokens)
    KVMETER_EXPECTS(token >= 0 && token < m_config.vocab_size, "token id {}; {} has ids 0 to {}",
                    token, m_config.name, m_config.vocab_size - 1);
  for (const StepSequence& s : plan.sequences) {
    KVMETER_EXPECTS(s.n_tokens > 0, "sequence {}: no tokens in a step", s.slot);
    KVMETER_EXPECTS(s.first_position + s.n_tokens <= m_limits.max_positions,
                    "sequence {} reaches {} tokens; prepared for {}", s.slot,
                    s.first_position + s.n_tokens, m_limits.max_positions);
  }
}

Cost layers_cost(const ModelConfig& c, Element element, std::int64_t n_rows) {
  return c.n_layers * (ops::linear_cost(n_rows, c.hidden_dim, qkv_columns(c), element) +
                       ops::linear_cost(n_rows, c.q_dim(), c.hidden_dim, element) +
                       ops::linear_cost(n_rows, c.hidden_dim, up_columns(c), element) +
                       ops::linear_cost(n_rows, c.ffn_dim, c.hidden_dim, element));
}

Cost head_cost(const ModelConfig& c, Element element, std::int64_t n_rows) {
  return ops::linear_cost(n_rows, c.hidden_dim, c.vocab_size, element);
}

template <class Exec>
std::int64_t decoder_workspace_bytes(const ModelConfig& c, const StepLimits& limits,
                                     Element element) {
  const std::int64_t row =
      2 * c.hidden_dim + qkv_columns(c) + c.q_dim() + up_columns(c) + c.ffn_dim;
  const std::int64_t logit_row = c.hidden_dim + c.vocab_size;
  const std::int64_t rows = ops::padded_rows(limits.max_rows);
  const std::int64_t logit_rows = ops::padded_rows(limits.max_logit_rows);
  const std::int64_t rope = c.positions == Positions::rope ? limits.max_positions * c.head_dim : 0;
  const std::int64_t plan = 7 * limits.max_rows + limits.max_sequences;
  return 4 * (rows * row + logit_rows * logit_row + rope + plan) +
         ops::Matmul<Exec>::workspace_bytes(matmul_limits(c, limits, element));
}

#define KVMETER_INSTANTIATE(Exec)                                                            \
  template class Decoder<Exec>;                                                              \
  template std::int64_t decoder_workspace_bytes<Exec>(const ModelConfig&, const StepLimits&, \
                                                      Element);
KVMETER_FOR_EACH_EXEC(KVMETER_INSTANTIATE)
#undef KVMETER_INSTANTIATE

}  // namespace kvmeter

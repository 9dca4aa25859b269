// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The weights of a kvmeter model as the oracle wants them: q, k and v apart, gate and up apart.
#pragma once

#include "harness/model/weights.hpp"
#include "tests/harness/model/weights_reader.hpp"
#include "tests/oracle/weights.hpp"

namespace kvmeter::test {

template <class MemorySpace>
oracle::Vector oracle_vector(const WeightVector<MemorySpace>& vector) {
  const auto values = values_of(vector);
  return {values.begin(), values.end()};
}

template <class MemorySpace>
oracle::Matrix oracle_matrix(const WeightMatrix<MemorySpace>& matrix) {
  const auto values = values_of(matrix);
  return {matrix.out_dim, matrix.in_dim, {values.begin(), values.end()}};
}

/// Rows first .. first + n of a matrix and its bias.
inline oracle::LinearWeights rows_of_linear(const oracle::Matrix& matrix,
                                            const oracle::Vector& bias, std::int64_t first,
                                            std::int64_t n) {
  const auto rows = matrix.part(first, 0, n * matrix.cols);
  oracle::LinearWeights w{{n, matrix.cols, {rows.begin(), rows.end()}}, {}};
  if (!bias.empty()) w.bias.assign(bias.begin() + first, bias.begin() + first + n);
  return w;
}

template <class MemorySpace>
oracle::LayerWeights oracle_layer(const ModelConfig& config,
                                  const LayerWeights<MemorySpace>& layer) {
  oracle::LayerWeights w;
  w.attention_norm = {oracle_vector(layer.attention_norm),
                      oracle_vector(layer.attention_norm_bias)};
  w.mlp_norm = {oracle_vector(layer.mlp_norm), oracle_vector(layer.mlp_norm_bias)};
  const auto qkv = oracle_matrix(layer.qkv);
  const auto qkv_bias = oracle_vector(layer.qkv_bias);
  w.q = rows_of_linear(qkv, qkv_bias, 0, config.q_dim());
  w.k = rows_of_linear(qkv, qkv_bias, config.q_dim(), config.kv_dim());
  w.v = rows_of_linear(qkv, qkv_bias, config.q_dim() + config.kv_dim(), config.kv_dim());
  w.out = {oracle_matrix(layer.out), oracle_vector(layer.out_bias)};
  w.q_norm = oracle_vector(layer.q_norm);
  w.k_norm = oracle_vector(layer.k_norm);
  const auto up = oracle_matrix(layer.up);
  const auto up_bias = oracle_vector(layer.up_bias);
  const bool has_gate = config.activation == Activation::swiglu;
  if (has_gate) w.gate = rows_of_linear(up, up_bias, 0, config.ffn_dim);
  w.up = rows_of_linear(up, up_bias, has_gate ? config.ffn_dim : 0, config.ffn_dim);
  w.down = {oracle_matrix(layer.down), oracle_vector(layer.down_bias)};
  return w;
}

template <class MemorySpace>
oracle::Weights oracle_weights(const ModelConfig& config,
                               const ModelWeights<MemorySpace>& weights) {
  oracle::Weights w;
  w.embedding = oracle_matrix(weights.embedding);
  if (config.positions == Positions::learned)
    w.position_embedding = oracle_matrix(weights.position_embedding);
  for (const auto& layer : weights.layers) w.layers.push_back(oracle_layer(config, layer));
  w.final_norm = {oracle_vector(weights.final_norm), oracle_vector(weights.final_norm_bias)};
  w.head = oracle_matrix(weights.head);
  return w;
}

}  // namespace kvmeter::test

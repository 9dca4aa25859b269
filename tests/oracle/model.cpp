// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/model.hpp"

#include <stdexcept>
#include <utility>

#include "tests/oracle/attend.hpp"
#include "tests/oracle/functions.hpp"
#include "tests/oracle/read_config.hpp"
#include "tests/oracle/rope.hpp"
#include "tests/oracle/safetensors.hpp"

namespace kvmeter::oracle {
namespace {

/// Calls function(one head) for the heads of a token.
template <class Function>
void for_each_head(std::span<double> heads, std::int64_t head_dim, const Function& function) {
  const auto dim = static_cast<std::size_t>(head_dim);
  for (std::size_t first = 0; first < heads.size(); first += dim)
    function(heads.subspan(first, dim));
}

Vector project(const LinearWeights& w, std::span<const double> x) {
  return linear(w.weight, x, w.bias);
}

void add(std::span<double> x, const Vector& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
}

}  // namespace

Model::Model(ModelConfig config, Weights weights)
    : config_(std::move(config)), weights_(std::move(weights)) {
  if (config_.positions == Positions::rope) frequencies_ = rope_frequencies(config_);
}

Model Model::load(const std::filesystem::path& folder) {
  const ModelConfig config = read_config(folder);
  return {config, take_weights(config, read_checkpoint(folder))};
}

Cache Model::make_cache(std::string_view k_element, std::string_view v_element) const {
  Cache cache;
  cache.layers.resize(static_cast<std::size_t>(config_.n_layers));
  cache.round_k = rounding_of(k_element);
  cache.round_v = rounding_of(v_element);
  return cache;
}

Matrix Model::embed(std::span<const std::int64_t> ids, std::int64_t first) const {
  Matrix x;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    x.append_row(weights_.embedding.row(ids[i]));
    if (config_.positions != Positions::learned) continue;
    const auto position = weights_.position_embedding.row(first + static_cast<std::int64_t>(i));
    add(x.row(static_cast<std::int64_t>(i)), Vector(position.begin(), position.end()));
  }
  return x;
}

Vector Model::norm(std::span<const double> x, const NormWeights& w) const {
  if (config_.norm == Norm::layer) return layer_norm(x, w.scale, w.shift, config_.norm_epsilon);
  return rms_norm(x, w.scale, config_.norm_epsilon);
}

/// q/k norm and rotation of the heads of one token, where the model has them.
void Model::place_heads(std::span<double> heads, const Vector& scale, std::int64_t position) const {
  for_each_head(heads, config_.head_dim, [&](std::span<double> head) {
    if (!scale.empty()) {
      const Vector y = rms_norm(head, scale, config_.norm_epsilon);
      for (std::size_t i = 0; i < head.size(); ++i) head[i] = y[i];
    }
    if (config_.positions == Positions::rope) rotate(head, position, frequencies_);
  });
}

void Model::attention_block(Matrix& x, Cache& cache, std::size_t layer) const {
  const LayerWeights& w = weights_.layers[layer];
  Matrix q;
  for (std::int64_t i = 0; i < x.rows; ++i) {
    const Vector normed = norm(x.row(i), w.attention_norm);
    Vector q_row = project(w.q, normed);
    Vector k_row = project(w.k, normed);
    Vector v_row = project(w.v, normed);
    place_heads(q_row, w.q_norm, cache.length + i);
    place_heads(k_row, w.k_norm, cache.length + i);
    for_each_head(k_row, config_.head_dim, cache.round_k);
    for_each_head(v_row, config_.head_dim, cache.round_v);
    q.append_row(q_row);
    cache.layers[layer].k.append_row(k_row);
    cache.layers[layer].v.append_row(v_row);
  }
  const AttendShape shape{config_.n_heads, config_.n_kv_heads, config_.head_dim, cache.length,
                          config_.windows.at(layer)};
  const Matrix mixed = attend(q, cache.layers[layer].k, cache.layers[layer].v, shape);
  for (std::int64_t i = 0; i < x.rows; ++i) add(x.row(i), project(w.out, mixed.row(i)));
}

void Model::mlp_block(Matrix& x, const LayerWeights& w) const {
  for (std::int64_t i = 0; i < x.rows; ++i) {
    const Vector normed = norm(x.row(i), w.mlp_norm);
    Vector inner = project(w.up, normed);
    if (config_.activation == Activation::swiglu) {
      const Vector gate = project(w.gate, normed);
      for (std::size_t j = 0; j < inner.size(); ++j) inner[j] *= silu(gate[j]);
    } else {
      for (double& value : inner) value = gelu_new(value);
    }
    add(x.row(i), project(w.down, inner));
  }
}

Matrix Model::advance(Cache& cache, std::span<const std::int64_t> ids) const {
  Matrix x = embed(ids, cache.length);
  for (std::size_t layer = 0; layer < weights_.layers.size(); ++layer) {
    attention_block(x, cache, layer);
    mlp_block(x, weights_.layers[layer]);
  }
  cache.length += x.rows;
  Matrix logits;
  for (std::int64_t i = 0; i < x.rows; ++i)
    logits.append_row(linear(weights_.head, norm(x.row(i), weights_.final_norm), {}));
  return logits;
}

Matrix Model::logits(std::span<const std::int64_t> ids) const {
  Cache cache = make_cache();
  return advance(cache, ids);
}

}  // namespace kvmeter::oracle

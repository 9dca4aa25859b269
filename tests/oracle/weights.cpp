// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/weights.hpp"

#include <stdexcept>

namespace kvmeter::oracle {
namespace {

const Tensor& find(const Tensors& tensors, const std::string& name) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) throw std::invalid_argument("oracle: no tensor " + name);
  return found->second;
}

Vector vector_of(const Tensors& tensors, const std::string& name) {
  return find(tensors, name).data;
}

Matrix matrix_of(const Tensors& tensors, const std::string& name) {
  const Tensor& tensor = find(tensors, name);
  return {tensor.shape.at(0), tensor.shape.at(1), tensor.data};
}

LinearWeights linear_of(const Tensors& tensors, const std::string& name, bool has_bias) {
  return {matrix_of(tensors, name + ".weight"),
          has_bias ? vector_of(tensors, name + ".bias") : Vector{}};
}

LayerWeights llama_layer(const ModelConfig& config, const Tensors& tensors, std::int64_t index) {
  const std::string layer = "model.layers." + std::to_string(index) + ".";
  const std::string attention = layer + "self_attn.";
  LayerWeights w;
  w.attention_norm.scale = vector_of(tensors, layer + "input_layernorm.weight");
  w.mlp_norm.scale = vector_of(tensors, layer + "post_attention_layernorm.weight");
  w.q = linear_of(tensors, attention + "q_proj", config.qkv_bias);
  w.k = linear_of(tensors, attention + "k_proj", config.qkv_bias);
  w.v = linear_of(tensors, attention + "v_proj", config.qkv_bias);
  w.out = linear_of(tensors, attention + "o_proj", config.out_bias);
  if (config.qk_norm) {
    w.q_norm = vector_of(tensors, attention + "q_norm.weight");
    w.k_norm = vector_of(tensors, attention + "k_norm.weight");
  }
  w.gate = linear_of(tensors, layer + "mlp.gate_proj", config.mlp_bias);
  w.up = linear_of(tensors, layer + "mlp.up_proj", config.mlp_bias);
  w.down = linear_of(tensors, layer + "mlp.down_proj", config.mlp_bias);
  return w;
}

Weights llama_weights(const ModelConfig& config, const Tensors& tensors) {
  Weights w;
  w.embedding = matrix_of(tensors, "model.embed_tokens.weight");
  for (std::int64_t layer = 0; layer < config.n_layers; ++layer)
    w.layers.push_back(llama_layer(config, tensors, layer));
  w.final_norm.scale = vector_of(tensors, "model.norm.weight");
  w.head = config.tied_embeddings ? w.embedding : matrix_of(tensors, "lm_head.weight");
  return w;
}

/// Columns first .. first + count of GPT-2's [in, out] matrix, as a matrix [out, in].
LinearWeights conv1d_of(const Tensors& tensors, const std::string& name, std::int64_t first,
                        std::int64_t count) {
  const Matrix stored = matrix_of(tensors, name + ".weight");
  const Vector bias = vector_of(tensors, name + ".bias");
  LinearWeights w{Matrix(count, stored.rows), {}};
  for (std::int64_t o = 0; o < count; ++o) {
    for (std::int64_t i = 0; i < stored.rows; ++i) w.weight(o, i) = stored(i, first + o);
    w.bias.push_back(bias.at(static_cast<std::size_t>(first + o)));
  }
  return w;
}

NormWeights layer_norm_of(const Tensors& tensors, const std::string& name) {
  return {vector_of(tensors, name + ".weight"), vector_of(tensors, name + ".bias")};
}

LayerWeights gpt2_layer(const ModelConfig& config, const Tensors& tensors,
                        const std::string& layer) {
  const std::int64_t hidden = config.hidden_dim;
  LayerWeights w;
  w.attention_norm = layer_norm_of(tensors, layer + "ln_1");
  w.mlp_norm = layer_norm_of(tensors, layer + "ln_2");
  w.q = conv1d_of(tensors, layer + "attn.c_attn", 0, hidden);
  w.k = conv1d_of(tensors, layer + "attn.c_attn", hidden, hidden);
  w.v = conv1d_of(tensors, layer + "attn.c_attn", 2 * hidden, hidden);
  w.out = conv1d_of(tensors, layer + "attn.c_proj", 0, hidden);
  w.up = conv1d_of(tensors, layer + "mlp.c_fc", 0, config.ffn_dim);
  w.down = conv1d_of(tensors, layer + "mlp.c_proj", 0, hidden);
  return w;
}

Weights gpt2_weights(const ModelConfig& config, const Tensors& tensors) {
  const std::string prefix = tensors.contains("wte.weight") ? "" : "transformer.";
  Weights w;
  w.embedding = matrix_of(tensors, prefix + "wte.weight");
  w.position_embedding = matrix_of(tensors, prefix + "wpe.weight");
  for (std::int64_t layer = 0; layer < config.n_layers; ++layer)
    w.layers.push_back(gpt2_layer(config, tensors, prefix + "h." + std::to_string(layer) + "."));
  w.final_norm = layer_norm_of(tensors, prefix + "ln_f");
  w.head = config.tied_embeddings ? w.embedding : matrix_of(tensors, "lm_head.weight");
  return w;
}

}  // namespace

Weights take_weights(const ModelConfig& config, const Tensors& tensors) {
  return config.family == "gpt2" ? gpt2_weights(config, tensors) : llama_weights(config, tensors);
}

}  // namespace kvmeter::oracle

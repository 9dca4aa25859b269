// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The weights of a decoder in one memory space, held once: q, k and v rows in one matrix, gate and
// up in another, so that each step streams few long matrices.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "harness/exec/views.hpp"
#include "harness/model/config.hpp"
#include "harness/ops/weight_matrix.hpp"

namespace kvmeter {

/// Scale and shift of a norm, or a bias; always f32 in memory. Extent 0: absent.
template <class MemorySpace>
using WeightVector = Array1<float, MemorySpace>;

template <class MemorySpace>
struct LayerWeights {
  WeightVector<MemorySpace> attention_norm, attention_norm_bias;  // [hidden_dim]
  WeightMatrix<MemorySpace> qkv;                                  // [q_dim + 2 kv_dim, hidden_dim]
  WeightVector<MemorySpace> qkv_bias;                             // [q_dim + 2 kv_dim]
  WeightVector<MemorySpace> q_norm, k_norm;                       // [head_dim]
  WeightMatrix<MemorySpace> out;                                  // [hidden_dim, q_dim]
  WeightVector<MemorySpace> out_bias;                             // [hidden_dim]
  WeightVector<MemorySpace> mlp_norm, mlp_norm_bias;              // [hidden_dim]
  WeightMatrix<MemorySpace>
      up;  // swiglu: [2 ffn_dim, hidden_dim], gate rows first; else [ffn_dim, ..]
  WeightVector<MemorySpace> up_bias;    // as many as rows
  WeightMatrix<MemorySpace> down;       // [hidden_dim, ffn_dim]
  WeightVector<MemorySpace> down_bias;  // [hidden_dim]
};

template <class MemorySpace>
struct ModelWeights {
  WeightMatrix<MemorySpace> embedding;  // [vocab_size, hidden_dim]
  WeightMatrix<MemorySpace>
      position_embedding;  // [max_positions, hidden_dim]; learned positions only
  std::vector<LayerWeights<MemorySpace>> layers;
  WeightVector<MemorySpace> final_norm, final_norm_bias;  // [hidden_dim]
  WeightMatrix<MemorySpace>
      head;  // [vocab_size, hidden_dim]; shares the embedding's storage when tied
};

/// Bytes of all weights of this shape in `element`, norms and biases in f32, tied ones once.
std::int64_t weights_bytes(const ModelConfig& config, Element element);

/// Reads model.safetensors, or the shards named by model.safetensors.index.json, of a checkpoint
/// folder and converts to `element` (norms and biases are rounded to it too, and held as f32).
/// Throws Error that names the file and the tensor.
template <class Exec>
ModelWeights<typename Exec::memory_space> load_weights(const Exec& exec, const ModelConfig& config,
                                                       const std::filesystem::path& folder,
                                                       Element element);

/// Uniform random weights of standard deviation 1 / sqrt(in_dim) (out and down divided by sqrt(2
/// n_layers) besides, norms 1, biases small), from a counter-based generator: the value depends on
/// seed, tensor and index alone, so it is the same on every back end and thread count.
template <class Exec>
ModelWeights<typename Exec::memory_space> random_weights(const Exec& exec,
                                                         const ModelConfig& config, Element element,
                                                         std::uint64_t seed);

}  // namespace kvmeter

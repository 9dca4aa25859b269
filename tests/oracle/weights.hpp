// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The oracle's weights: every matrix apart and [out, in], taken from a checkpoint's tensors by
// name.
#pragma once

#include <vector>

#include "harness/model/config.hpp"
#include "tests/oracle/tensor.hpp"

namespace kvmeter::oracle {

struct NormWeights {
  Vector scale, shift;  // shift: of layer norms only
};

struct LinearWeights {
  Matrix weight;  // [out, in]
  Vector bias;    // empty: none
};

struct LayerWeights {
  NormWeights attention_norm, mlp_norm;
  LinearWeights q, k, v, out;
  Vector q_norm, k_norm;  // [head_dim], empty: none
  LinearWeights gate;     // swiglu only
  LinearWeights up, down;
};

struct Weights {
  Matrix embedding;           // [vocab, hidden]
  Matrix position_embedding;  // [positions, hidden], learned positions only
  std::vector<LayerWeights> layers;
  NormWeights final_norm;
  Matrix head;  // [vocab, hidden]
};

/// Names of Llama, Mistral, Qwen2, Qwen3, or those of GPT-2. Throws where one is missing.
Weights take_weights(const ModelConfig& config, const Tensors& tensors);

}  // namespace kvmeter::oracle

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The tensors of a model: their roles, shapes, and what each family calls them in a checkpoint. One
// list serves the parameter count, the check of a checkpoint, the loader and the random weights.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/config.hpp"

namespace kvmeter {

/// What a tensor is for. Random values are drawn by the number of the role: append, never reorder.
enum class Role {
  embedding,
  position_embedding,
  final_norm,
  final_norm_bias,
  head,
  attention_norm,
  attention_norm_bias,
  q,
  k,
  v,
  q_bias,
  k_bias,
  v_bias,
  q_norm,
  k_norm,
  out,
  out_bias,
  mlp_norm,
  mlp_norm_bias,
  gate,
  up,
  gate_bias,
  up_bias,
  down,
  down_bias
};

enum class TensorKind { matrix, norm, bias };

TensorKind kind_of(Role role);

/// One tensor of a model: a matrix [out_dim, in_dim], or a norm or bias [out_dim] (in_dim 1).
struct ModelTensor {
  Role role;
  std::int64_t layer = -1;  // -1: of no layer
  std::int64_t out_dim = 0;
  std::int64_t in_dim = 1;
  std::int64_t first_row =
      0;  // in the matrix or vector that holds it: k and v follow q, up follows gate
  std::int64_t held_rows = 0;  // rows of that matrix or vector

  std::string name;               // in a checkpoint, without the prefix "model." or "transformer."
  bool prefixed = true;           // false: the prefix never applies (lm_head)
  bool transposed = false;        // the checkpoint has [in, out] (GPT-2's Conv1D)
  std::int64_t file_out_dim = 0;  // of the checkpoint's tensor, of which this may be a slice
  std::int64_t file_first_out = 0;

  [[nodiscard]] std::int64_t count() const { return out_dim * in_dim; }
  [[nodiscard]] std::vector<std::int64_t> file_shape() const;
};

/// All tensors of the model, in checkpoint order; tied embeddings occur once, without the head.
std::vector<ModelTensor> model_tensors(const ModelConfig& config);

/// The prefix that this family's checkpoints may have: "model." or "transformer.".
std::string_view tensor_prefix(const ModelConfig& config);

/// Buffers that old checkpoints carry and that nobody needs: GPT-2's causal masks (h.N.attn.bias,
/// h.N.attn.masked_bias), the rotary frequencies (...rotary_emb.inv_freq).
bool is_harmless_buffer(std::string_view name);

}  // namespace kvmeter

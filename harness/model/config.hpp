// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What a decoder-only transformer looks like, read from a Hugging Face config.json. Families differ
// in this data only; there is no class for any of them. What is not supported is refused by name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/enums.hpp"

namespace kvmeter {

enum class Norm { rms, layer };
enum class Positions { rope, learned };
enum class Activation { swiglu, gelu_tanh };  // gelu_tanh: the "gelu_new" of GPT-2

/// Frequency scaling of Llama 3 ("The Llama 3 herd of models", 2024), as config.json spells it.
struct Llama3RopeScaling {
  double factor = 8;
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  std::int64_t original_positions = 8192;
};

struct ModelConfig {
  std::string name;    // of the file or folder, for messages
  std::string family;  // model_type: llama, mistral, qwen2, qwen3, gpt2
  std::int64_t n_layers = 0;
  std::int64_t n_heads = 0;
  std::int64_t n_kv_heads = 0;
  std::int64_t head_dim = 0;  // independent of hidden_dim / n_heads
  std::int64_t hidden_dim = 0;
  std::int64_t ffn_dim = 0;
  std::int64_t vocab_size = 0;
  std::int64_t max_positions = 0;
  Norm norm = Norm::rms;
  double norm_epsilon = 1e-5;
  Positions positions = Positions::rope;
  double rope_theta = 10000;
  std::optional<Llama3RopeScaling> rope_scaling;
  Activation activation = Activation::swiglu;
  bool qkv_bias = false;
  bool out_bias = false;  // of the attention's output projection
  bool mlp_bias = false;
  bool qk_norm = false;  // RMS norm of each q and k head before RoPE
  bool tied_embeddings = false;
  std::vector<std::int64_t>
      windows;  // [n_layers] sliding window in tokens, itself included; 0: none
  std::vector<std::int64_t> eos_tokens;  // end-of-sequence ids; may be empty
  std::optional<Element> element;        // dtype / torch_dtype of the checkpoint

  [[nodiscard]] std::int64_t q_dim() const { return n_heads * head_dim; }
  [[nodiscard]] std::int64_t kv_dim() const { return n_kv_heads * head_dim; }
};

/// Reads config.json. Throws Error naming file, key, value and what is allowed.
ModelConfig read_model_config(const std::filesystem::path& file);

/// The same from text; `where` stands for the file in messages.
ModelConfig parse_model_config(std::string_view json, const std::string& where);

/// Re-shapes for random weights: kv_heads = "model" | "mha" | "mqa" | number, n_layers 0:
/// unchanged. Throws UsageError where n_heads is not a multiple of the KV heads.
void reshape(ModelConfig& config, std::string_view kv_heads, std::int64_t n_layers);

/// Trainable parameters, tied embeddings counted once.
std::int64_t parameter_count(const ModelConfig& config);

}  // namespace kvmeter

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/read_config.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace kvmeter::oracle {
namespace {

using Json = nlohmann::json;

/// The value of a key that may be missing or null.
template <class T>
T value_or(const Json& json, const char* key, T otherwise) {
  return json.contains(key) && !json.at(key).is_null() ? json.at(key).get<T>() : otherwise;
}

void read_rope(const Json& json, ModelConfig& config) {
  const Json none = Json::object();
  const Json scaling = value_or(json, "rope_parameters", value_or(json, "rope_scaling", none));
  const double top_level = value_or(json, "rope_theta", 10000.0);
  config.rope_theta = value_or(scaling, "rope_theta", top_level);
  const std::string old_name = value_or<std::string>(scaling, "type", "default");
  const std::string type = value_or(scaling, "rope_type", old_name);
  if (type == "default") return;
  if (type != "llama3") throw std::invalid_argument("oracle: rope type " + type);
  config.rope_scaling = Llama3RopeScaling{scaling.at("factor"), scaling.at("low_freq_factor"),
                                          scaling.at("high_freq_factor"),
                                          scaling.at("original_max_position_embeddings")};
}

void read_windows(const Json& json, ModelConfig& config) {
  const auto window = value_or<std::int64_t>(json, "sliding_window", 0);
  const bool is_qwen = config.family == "qwen2" || config.family == "qwen3";
  const bool slides = is_qwen ? value_or(json, "use_sliding_window", false) : true;
  const std::int64_t first = is_qwen ? value_or<std::int64_t>(json, "max_window_layers", 28) : 0;
  for (std::int64_t layer = 0; layer < config.n_layers; ++layer)
    config.windows.push_back(slides && layer >= first ? window : 0);
}

void read_llama(const Json& json, ModelConfig& config) {
  config.n_layers = json.at("num_hidden_layers");
  config.n_heads = json.at("num_attention_heads");
  config.n_kv_heads = value_or(json, "num_key_value_heads", config.n_heads);
  config.hidden_dim = json.at("hidden_size");
  config.head_dim = value_or(json, "head_dim", config.hidden_dim / config.n_heads);
  config.ffn_dim = json.at("intermediate_size");
  config.max_positions = json.at("max_position_embeddings");
  config.norm_epsilon = json.at("rms_norm_eps");
  const bool attention_bias = value_or(json, "attention_bias", false);
  config.qkv_bias = attention_bias || config.family == "qwen2";
  config.out_bias = attention_bias;
  config.mlp_bias = value_or(json, "mlp_bias", false);
  config.qk_norm = config.family == "qwen3";
  config.tied_embeddings = value_or(json, "tie_word_embeddings", false);
  read_rope(json, config);
}

void read_gpt2(const Json& json, ModelConfig& config) {
  config.n_layers = json.at("n_layer");
  config.n_heads = json.at("n_head");
  config.n_kv_heads = config.n_heads;
  config.hidden_dim = json.at("n_embd");
  config.head_dim = config.hidden_dim / config.n_heads;
  config.ffn_dim = value_or<std::int64_t>(json, "n_inner", 4 * config.hidden_dim);
  config.max_positions = json.at("n_positions");
  config.norm = Norm::layer;
  config.norm_epsilon = json.at("layer_norm_epsilon");
  config.positions = Positions::learned;
  config.activation = Activation::gelu_tanh;
  config.qkv_bias = config.out_bias = config.mlp_bias = true;
  config.tied_embeddings = value_or(json, "tie_word_embeddings", true);
}

}  // namespace

ModelConfig read_config(const std::filesystem::path& folder) {
  std::ifstream in(folder / "config.json");
  const Json json = Json::parse(in);
  ModelConfig config;
  config.name = folder.filename().string();
  config.family = json.at("model_type");
  config.vocab_size = json.at("vocab_size");
  if (config.family == "gpt2") {
    read_gpt2(json, config);
  } else {
    read_llama(json, config);
  }
  read_windows(json, config);
  return config;
}

}  // namespace kvmeter::oracle

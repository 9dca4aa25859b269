// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Small config.json texts of every family, with keys replaced or left out.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvmeter::test {

inline std::string base_config(std::string_view family) {
  if (family == "gpt2")
    return R"({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 12, "n_head": 3,
      "n_layer": 2, "n_positions": 32, "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new",
      "vocab_size": 19})";
  auto json = nlohmann::json::parse(R"({"hidden_size": 12, "num_attention_heads": 6,
    "num_key_value_heads": 2, "num_hidden_layers": 4, "intermediate_size": 20, "vocab_size": 19,
    "max_position_embeddings": 64, "rms_norm_eps": 1e-6, "hidden_act": "silu", "head_dim": 4})");
  json["model_type"] = family;
  return json.dump();
}

/// A key and its JSON text; "" removes the key.
using Change = std::pair<std::string, std::string>;

inline std::string changed_config(std::string_view family, const std::vector<Change>& changes) {
  auto json = nlohmann::json::parse(base_config(family));
  for (const auto& [key, text] : changes) {
    if (text.empty())
      json.erase(key);
    else
      json[key] = nlohmann::json::parse(text);
  }
  return json.dump();
}

}  // namespace kvmeter::test

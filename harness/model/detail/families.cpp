// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/detail/families.hpp"

#include <array>

namespace kvmeter::detail {
namespace {

constexpr ShapeKeys llama_keys{
    .hidden_dim = "hidden_size",
    .n_layers = "num_hidden_layers",
    .n_heads = "num_attention_heads",
    .ffn_dim = "intermediate_size",
    .max_positions = "max_position_embeddings",
    .norm_epsilon = "rms_norm_eps",
    .activation = "hidden_act",
};
constexpr ShapeKeys gpt2_keys{
    .hidden_dim = "n_embd",
    .n_layers = "n_layer",
    .n_heads = "n_head",
    .ffn_dim = "n_inner",
    .max_positions = "n_positions",
    .norm_epsilon = "layer_norm_epsilon",
    .activation = "activation_function",
};
constexpr Bias never{};
constexpr Bias always{.always = true, .key = ""};
constexpr Bias attention_bias{.always = false, .key = "attention_bias"};
constexpr Bias mlp_bias{.always = false, .key = "mlp_bias"};

constexpr Family llama{
    .model_type = "llama",
    .architecture = "LlamaForCausalLM",
    .keys = llama_keys,
    .norm = Norm::rms,
    .positions = Positions::rope,
    .activation = Activation::swiglu,
    .activation_name = "silu",
    .kv_heads_default = true,
    .head_dim_default = 0,
    .ffn_dim_factor = 0,
    .tied_default = false,
    .qkv_bias = attention_bias,
    .out_bias = attention_bias,
    .mlp_bias = mlp_bias,
    .qk_norm = false,
    .windows = WindowRule::none,
};

constexpr Family mistral() {
  Family family = llama;
  family.model_type = "mistral";
  family.architecture = "MistralForCausalLM";
  family.kv_heads_default = false;  // transformers would take 8
  family.qkv_bias = family.out_bias = family.mlp_bias = never;
  family.windows = WindowRule::all_layers;
  return family;
}

constexpr Family qwen2() {
  Family family = mistral();
  family.model_type = "qwen2";
  family.architecture = "Qwen2ForCausalLM";
  family.qkv_bias = always;
  family.windows = WindowRule::by_layer;
  return family;
}

constexpr Family qwen3() {
  Family family = qwen2();
  family.model_type = "qwen3";
  family.architecture = "Qwen3ForCausalLM";
  family.head_dim_default = 128;
  family.qkv_bias = family.out_bias = attention_bias;
  family.qk_norm = true;
  return family;
}

constexpr Family gpt2{
    .model_type = "gpt2",
    .architecture = "GPT2LMHeadModel",
    .keys = gpt2_keys,
    .norm = Norm::layer,
    .positions = Positions::learned,
    .activation = Activation::gelu_tanh,
    .activation_name = "gelu_new",
    .kv_heads_default = true,
    .head_dim_default = 0,
    .ffn_dim_factor = 4,
    .tied_default = true,
    .qkv_bias = always,
    .out_bias = always,
    .mlp_bias = always,
    .qk_norm = false,
    .windows = WindowRule::none,
};

constexpr std::array family_table{llama, mistral(), qwen2(), qwen3(), gpt2};

using Off = RefusedFeature::Off;
constexpr auto refused_table = std::to_array<RefusedFeature>({
    {"quantization_config"},
    {"compression_config"},
    {"is_encoder_decoder", Off::null_or_false},
    {"tie_encoder_decoder", Off::null_or_false},
    {"add_cross_attention", Off::null_or_false},
    {"partial_rotary_factor", Off::null_or_one},
    {"rotary_pct", Off::null_or_one},
    {"attn_logit_softcapping"},
    {"final_logit_softcapping"},
    {"query_pre_attn_scalar"},
    {"attention_multiplier"},
    {"embedding_multiplier"},
    {"residual_multiplier"},
    {"logits_scaling"},
    {"logit_scale"},
    {"clip_qkv"},
    {"alibi", Off::null_or_false},
    {"use_qk_norm", Off::null_or_false},
    {"qk_layernorm", Off::null_or_false},
    {"num_experts", Off::null_or_zero},
    {"num_local_experts", Off::null_or_zero},
    {"no_rope_layers"},
    {"layer_types", Off::null, "mistral"},
    {"attention_bias", Off::null_or_false, "mistral"},
    {"mlp_bias", Off::null_or_false, "mistral"},
    {"mlp_bias", Off::null_or_false, "qwen2"},
    {"mlp_bias", Off::null_or_false, "qwen3"},
    {"layer_types", Off::null, "llama"},
    {"sliding_window", Off::null, "llama"},
    {"scale_attn_weights", Off::null_or_true, "gpt2"},
    {"scale_attn_by_inverse_layer_idx", Off::null_or_false, "gpt2"},
    {"num_key_value_heads", Off::null, "gpt2"},
    {"head_dim", Off::null, "gpt2"},
    {"rope_scaling", Off::null, "gpt2"},
    {"rope_parameters", Off::null, "gpt2"},
});

}  // namespace

std::span<const Family> families() {
  return family_table;
}

std::span<const RefusedFeature> refused_features() {
  return refused_table;
}

}  // namespace kvmeter::detail

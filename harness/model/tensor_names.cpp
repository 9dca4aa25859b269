// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/tensor_names.hpp"

#include <fmt/format.h>

#include <array>

namespace kvmeter {
namespace {

struct RoleNames {
  Role role;
  TensorKind kind;
  std::string_view llama;  // also mistral, qwen2, qwen3
  std::string_view gpt2;   // "": has none
};

constexpr auto role_names = std::to_array<RoleNames>({
    {Role::embedding, TensorKind::matrix, "embed_tokens.weight", "wte.weight"},
    {Role::position_embedding, TensorKind::matrix, "", "wpe.weight"},
    {Role::final_norm, TensorKind::norm, "norm.weight", "ln_f.weight"},
    {Role::final_norm_bias, TensorKind::bias, "", "ln_f.bias"},
    {Role::head, TensorKind::matrix, "lm_head.weight", "lm_head.weight"},
    {Role::attention_norm, TensorKind::norm, "input_layernorm.weight", "ln_1.weight"},
    {Role::attention_norm_bias, TensorKind::bias, "", "ln_1.bias"},
    {Role::q, TensorKind::matrix, "self_attn.q_proj.weight", "attn.c_attn.weight"},
    {Role::k, TensorKind::matrix, "self_attn.k_proj.weight", "attn.c_attn.weight"},
    {Role::v, TensorKind::matrix, "self_attn.v_proj.weight", "attn.c_attn.weight"},
    {Role::q_bias, TensorKind::bias, "self_attn.q_proj.bias", "attn.c_attn.bias"},
    {Role::k_bias, TensorKind::bias, "self_attn.k_proj.bias", "attn.c_attn.bias"},
    {Role::v_bias, TensorKind::bias, "self_attn.v_proj.bias", "attn.c_attn.bias"},
    {Role::q_norm, TensorKind::norm, "self_attn.q_norm.weight", ""},
    {Role::k_norm, TensorKind::norm, "self_attn.k_norm.weight", ""},
    {Role::out, TensorKind::matrix, "self_attn.o_proj.weight", "attn.c_proj.weight"},
    {Role::out_bias, TensorKind::bias, "self_attn.o_proj.bias", "attn.c_proj.bias"},
    {Role::mlp_norm, TensorKind::norm, "post_attention_layernorm.weight", "ln_2.weight"},
    {Role::mlp_norm_bias, TensorKind::bias, "", "ln_2.bias"},
    {Role::gate, TensorKind::matrix, "mlp.gate_proj.weight", ""},
    {Role::up, TensorKind::matrix, "mlp.up_proj.weight", "mlp.c_fc.weight"},
    {Role::gate_bias, TensorKind::bias, "mlp.gate_proj.bias", ""},
    {Role::up_bias, TensorKind::bias, "mlp.up_proj.bias", "mlp.c_fc.bias"},
    {Role::down, TensorKind::matrix, "mlp.down_proj.weight", "mlp.c_proj.weight"},
    {Role::down_bias, TensorKind::bias, "mlp.down_proj.bias", "mlp.c_proj.bias"},
});

constexpr bool in_order() {
  for (std::size_t i = 0; i < role_names.size(); ++i)
    if (role_names[i].role != static_cast<Role>(i)) return false;
  return true;
}
static_assert(in_order());

const RoleNames& names_of(Role role) {
  return role_names[static_cast<std::size_t>(role)];
}

/// Collects the tensors of a model; each member function adds those of one part.
struct Collector {
  const ModelConfig& config;
  bool gpt2 = config.family == "gpt2";
  std::vector<ModelTensor> tensors{};
  std::int64_t layer = -1;

  ModelTensor& add(Role role, std::int64_t out_dim, std::int64_t in_dim = 1,
                   std::int64_t first_row = 0) {
    const std::string_view stem = gpt2 ? names_of(role).gpt2 : names_of(role).llama;
    ModelTensor tensor{.role = role,
                       .layer = layer,
                       .out_dim = out_dim,
                       .in_dim = in_dim,
                       .first_row = first_row,
                       .held_rows = out_dim,
                       .name = std::string(stem),
                       .file_out_dim = out_dim};
    if (layer >= 0) tensor.name = fmt::format("{}.{}.{}", gpt2 ? "h" : "layers", layer, stem);
    return tensors.emplace_back(std::move(tensor));
  }

  /// A linear layer: GPT-2 keeps it transposed.
  ModelTensor& add_linear(Role role, std::int64_t out_dim, std::int64_t in_dim,
                          std::int64_t first_row = 0) {
    ModelTensor& tensor = add(role, out_dim, in_dim, first_row);
    tensor.transposed = gpt2;
    return tensor;
  }

  void add_norm(Role scale, Role shift) {
    add(scale, config.hidden_dim);
    if (config.norm == Norm::layer) add(shift, config.hidden_dim);
  }

  /// q, k, v: three tensors, or slices of GPT-2's one.
  void add_qkv(Role q, bool is_bias) {
    const std::int64_t in_dim = is_bias ? 1 : config.hidden_dim;
    const std::array rows{config.q_dim(), config.kv_dim(), config.kv_dim()};
    std::int64_t first_row = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto role = static_cast<Role>(static_cast<int>(q) + static_cast<int>(i));
      ModelTensor& tensor = is_bias ? add(role, rows[i], in_dim, first_row)
                                    : add_linear(role, rows[i], in_dim, first_row);
      tensor.held_rows = rows[0] + rows[1] + rows[2];
      if (gpt2) {
        tensor.file_out_dim = tensor.held_rows;
        tensor.file_first_out = first_row;
      }
      first_row += rows[i];
    }
  }

  void add_attention() {
    add_norm(Role::attention_norm, Role::attention_norm_bias);
    add_qkv(Role::q, false);
    if (config.qkv_bias) add_qkv(Role::q_bias, true);
    if (config.qk_norm) {
      add(Role::q_norm, config.head_dim);
      add(Role::k_norm, config.head_dim);
    }
    add_linear(Role::out, config.hidden_dim, config.q_dim());
    if (config.out_bias) add(Role::out_bias, config.hidden_dim);
  }

  void add_mlp() {
    const bool gated = config.activation == Activation::swiglu;
    const std::int64_t up_row = gated ? config.ffn_dim : 0;
    const std::int64_t held_rows = up_row + config.ffn_dim;
    add_norm(Role::mlp_norm, Role::mlp_norm_bias);
    if (gated) add_linear(Role::gate, config.ffn_dim, config.hidden_dim).held_rows = held_rows;
    add_linear(Role::up, config.ffn_dim, config.hidden_dim, up_row).held_rows = held_rows;
    if (gated && config.mlp_bias) add(Role::gate_bias, config.ffn_dim).held_rows = held_rows;
    if (config.mlp_bias) add(Role::up_bias, config.ffn_dim, 1, up_row).held_rows = held_rows;
    add_linear(Role::down, config.hidden_dim, config.ffn_dim);
    if (config.mlp_bias) add(Role::down_bias, config.hidden_dim);
  }

  void add_all() {
    add(Role::embedding, config.vocab_size, config.hidden_dim);
    if (config.positions == Positions::learned)
      add(Role::position_embedding, config.max_positions, config.hidden_dim);
    for (layer = 0; layer < config.n_layers; ++layer) {
      add_attention();
      add_mlp();
    }
    layer = -1;
    add_norm(Role::final_norm, Role::final_norm_bias);
    if (!config.tied_embeddings)
      add(Role::head, config.vocab_size, config.hidden_dim).prefixed = false;
  }
};

}  // namespace

TensorKind kind_of(Role role) {
  return names_of(role).kind;
}

std::vector<std::int64_t> ModelTensor::file_shape() const {
  if (kind_of(role) != TensorKind::matrix) return {file_out_dim};
  if (transposed) return {in_dim, file_out_dim};
  return {file_out_dim, in_dim};
}

std::vector<ModelTensor> model_tensors(const ModelConfig& config) {
  Collector collector{config};
  collector.add_all();
  return std::move(collector.tensors);
}

std::string_view tensor_prefix(const ModelConfig& config) {
  return config.family == "gpt2" ? "transformer." : "model.";
}

bool is_harmless_buffer(std::string_view name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") ||
         name.ends_with(".rotary_emb.inv_freq");
}

}  // namespace kvmeter

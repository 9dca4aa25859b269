// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The families of models as data: how each spells its config.json, what a missing key means (the
// default of the transformers library, which writes these files), and which features are refused. A
// family that needs no new arithmetic is a row here and, for other tensor names, one in
// tensor_names.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "harness/model/config.hpp"

namespace kvmeter::detail {

/// Keys of config.json under which a family keeps its shape.
struct ShapeKeys {
  std::string_view hidden_dim, n_layers, n_heads, ffn_dim, max_positions, norm_epsilon, activation;
};

/// Whether linear layers have a bias.
struct Bias {
  bool always = false;
  std::string_view key;  // a boolean of config.json decides, false where absent; "": never
};

enum class WindowRule {
  none,
  all_layers,  // sliding_window, where not null
  by_layer     // only with use_sliding_window: layer_types, or from max_window_layers on
};

struct Family {
  std::string_view model_type, architecture;
  ShapeKeys keys;
  Norm norm;
  Positions positions;
  Activation activation;
  std::string_view activation_name;  // the only one allowed
  bool kv_heads_default;             // num_key_value_heads may be absent: as many as heads
  std::int64_t head_dim_default;     // 0: hidden_dim / n_heads
  std::int64_t ffn_dim_factor;       // of hidden_dim, where absent; 0: must be given
  bool tied_default;                 // tie_word_embeddings, where absent
  Bias qkv_bias, out_bias, mlp_bias;
  bool qk_norm;
  WindowRule windows;
};

std::span<const Family> families();

/// A feature that is not supported: config.json may name it only with a value that switches it off.
struct RefusedFeature {
  enum class Off { null, null_or_false, null_or_true, null_or_zero, null_or_one };
  std::string_view key;
  Off off = Off::null;
  std::string_view family = "";  // "": all
};

std::span<const RefusedFeature> refused_features();

}  // namespace kvmeter::detail

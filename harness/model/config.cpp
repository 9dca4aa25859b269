// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/config.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "harness/core/error.hpp"
#include "harness/model/detail/families.hpp"
#include "harness/model/detail/json.hpp"
#include "harness/model/detail/rope.hpp"
#include "harness/model/detail/windows.hpp"
#include "harness/model/tensor_names.hpp"

namespace kvmeter {
namespace {

using detail::Family;
using detail::Json;
using detail::JsonObject;
using detail::RefusedFeature;

// Far above any model, and low enough that no product of them overflows 64 bits.
constexpr std::int64_t most_layers = 1000;
constexpr std::int64_t most_heads = 10'000;
constexpr std::int64_t most_head_dim = 10'000;
constexpr std::int64_t most_hidden_dim = 1'000'000;
constexpr std::int64_t most_ffn_dim = 10'000'000;
constexpr std::int64_t most_vocab_size = 100'000'000;
constexpr std::int64_t most_positions = 1'000'000'000;

const Family& find_family(const JsonObject& file) {
  const std::string type = file.string("model_type");
  std::vector<std::string_view> known;
  for (const Family& family : detail::families()) {
    if (family.model_type == type) return family;
    known.push_back(family.model_type);
  }
  file.refuse("model_type", fmt::format("{}", fmt::join(known, ", ")));
}

void check_architecture(const JsonObject& file, const Family& family) {
  if (!file.has("architectures")) return;
  const Json& names = file.at("architectures");
  if (!names.is_array() || names.size() != 1 || names[0] != family.architecture)
    file.refuse("architectures", fmt::format("[\"{}\"]", family.architecture));
}

struct OffValue {
  const char* words;
  Json value;
};

OffValue off_value(RefusedFeature::Off off) {
  switch (off) {
    case RefusedFeature::Off::null_or_false:
      return {"false", false};
    case RefusedFeature::Off::null_or_true:
      return {"true", true};
    case RefusedFeature::Off::null_or_zero:
      return {"0", 0};
    case RefusedFeature::Off::null_or_one:
      return {"1", 1};
    case RefusedFeature::Off::null:
      break;
  }
  return {"null", nullptr};
}

void check_refused(const JsonObject& file, const Family& family) {
  for (const RefusedFeature& feature : detail::refused_features()) {
    if (!feature.family.empty() && feature.family != family.model_type) continue;
    const Json* value = file.find(feature.key);
    if (value == nullptr) continue;
    const OffValue off = off_value(feature.off);
    if (*value != off.value) file.refuse(feature.key, off.words);
  }
}

std::int64_t read_kv_heads(const JsonObject& file, const Family& family, std::int64_t n_heads) {
  constexpr std::string_view key = "num_key_value_heads";
  if (family.kv_heads_default && !file.has(key)) return n_heads;
  const std::int64_t n_kv_heads = file.integer(key, 1, most_heads);
  if (n_heads % n_kv_heads != 0) file.refuse(key, fmt::format("divisors of n_heads = {}", n_heads));
  return n_kv_heads;
}

std::int64_t read_head_dim(const JsonObject& file, const Family& family,
                           const ModelConfig& config) {
  if (file.has("head_dim")) return file.integer("head_dim", 1, most_head_dim);
  if (family.head_dim_default > 0) return family.head_dim_default;
  if (config.hidden_dim % config.n_heads != 0)
    file.refuse(family.keys.hidden_dim, fmt::format("multiples of {} = {}, or a head_dim",
                                                    family.keys.n_heads, config.n_heads));
  return config.hidden_dim / config.n_heads;
}

void read_shape(const JsonObject& file, const Family& family, ModelConfig& config) {
  const detail::ShapeKeys& keys = family.keys;
  config.n_layers = file.integer(keys.n_layers, 1, most_layers);
  config.hidden_dim = file.integer(keys.hidden_dim, 1, most_hidden_dim);
  config.n_heads = file.integer(keys.n_heads, 1, most_heads);
  config.n_kv_heads = read_kv_heads(file, family, config.n_heads);
  config.head_dim = read_head_dim(file, family, config);
  config.ffn_dim = family.ffn_dim_factor > 0 && !file.has(keys.ffn_dim)
                       ? family.ffn_dim_factor * config.hidden_dim
                       : file.integer(keys.ffn_dim, 1, most_ffn_dim);
  config.vocab_size = file.integer("vocab_size", 1, most_vocab_size);
  config.max_positions = file.integer(keys.max_positions, 1, most_positions);
  config.norm_epsilon = file.number(keys.norm_epsilon, 1e-12, 1);
}

bool read_bias(const JsonObject& file, const detail::Bias& bias) {
  return bias.always || (!bias.key.empty() && file.boolean(bias.key, false));
}

void read_kind(const JsonObject& file, const Family& family, ModelConfig& config) {
  config.norm = family.norm;
  config.positions = family.positions;
  config.activation = family.activation;
  config.qk_norm = family.qk_norm;
  if (file.string(family.keys.activation) != family.activation_name)
    file.refuse(family.keys.activation, family.activation_name);
  config.qkv_bias = read_bias(file, family.qkv_bias);
  config.out_bias = read_bias(file, family.out_bias);
  config.mlp_bias = read_bias(file, family.mlp_bias);
  config.tied_embeddings = file.boolean("tie_word_embeddings", family.tied_default);
  if (family.positions == Positions::rope) {
    detail::read_rope(file, config);
    KVMETER_EXPECTS(config.head_dim % 2 == 0, "{}: head_dim = {}: RoPE needs an even number",
                    file.where(), config.head_dim);
  }
}

void read_eos(const JsonObject& file, ModelConfig& config) {
  constexpr std::string_view key = "eos_token_id";
  const Json* value = file.find(key);
  if (value == nullptr) return;
  const Json list = value->is_array() ? *value : Json::array({*value});
  for (const Json& id : list) {
    const bool is_id = id.is_number_integer() && id >= 0 && id < config.vocab_size;
    if (!is_id) file.refuse(key, fmt::format("null, or ids from 0 to {}", config.vocab_size - 1));
    config.eos_tokens.push_back(id.get<std::int64_t>());
  }
}

void read_element(const JsonObject& file, ModelConfig& config) {
  const std::string_view key = file.has("dtype") ? "dtype" : "torch_dtype";
  if (!file.has(key)) return;
  constexpr auto names =
      std::to_array<std::string_view>({"float32", "float16", "bfloat16"});  // as Element
  const auto found = std::ranges::find(names, file.string(key));
  if (found == names.end()) file.refuse(key, fmt::format("{}", fmt::join(names, ", ")));
  config.element = static_cast<Element>(found - names.begin());
}

std::string name_from(const std::string& where) {
  const std::filesystem::path path(where);
  return path.stem() == "config" && path.has_parent_path() ? path.parent_path().filename()
                                                           : path.stem();
}

}  // namespace

ModelConfig parse_model_config(std::string_view json, const std::string& where) {
  constexpr int max_depth = 16;
  const Json root = detail::parse_json(json, where, max_depth);
  const JsonObject file(root, where);
  const Family& family = find_family(file);
  check_architecture(file, family);
  check_refused(file, family);

  ModelConfig config;
  config.name = name_from(where);
  config.family = family.model_type;
  read_shape(file, family, config);
  read_kind(file, family, config);
  read_windows(file, family, config);
  read_eos(file, config);
  read_element(file, config);
  return config;
}

ModelConfig read_model_config(const std::filesystem::path& file) {
  constexpr std::size_t max_bytes = 16 << 20;
  return parse_model_config(detail::read_text(file, max_bytes), file.string());
}

namespace {

std::int64_t kv_heads_asked(std::string_view text, const ModelConfig& config) {
  if (text == "model") return config.n_kv_heads;
  if (text == "mha") return config.n_heads;
  if (text == "mqa") return 1;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool divides = error == std::errc() && end == text.data() + text.size() && number > 0 &&
                       config.n_heads % number == 0;
  if (!divides)
    throw UsageError(fmt::format(
        "{}: kv_heads = {}: not possible; allowed: model, mha, mqa, divisors of n_heads = {}",
        config.name, text, config.n_heads));
  return number;
}

}  // namespace

void reshape(ModelConfig& config, std::string_view kv_heads, std::int64_t n_layers) {
  const std::int64_t n_kv_heads = kv_heads_asked(kv_heads, config);
  if (n_layers < 0 || n_layers > most_layers)
    throw UsageError(
        fmt::format("{}: n_layers = {}: not possible; allowed: 1 to {}, or 0 for the model's",
                    config.name, n_layers, most_layers));
  config.n_kv_heads = n_kv_heads;
  if (n_layers == 0) return;
  config.n_layers = n_layers;
  config.windows.resize(static_cast<std::size_t>(n_layers),
                        config.windows.empty() ? 0 : config.windows.back());
}

std::int64_t parameter_count(const ModelConfig& config) {
  std::int64_t count = 0;
  for (const ModelTensor& tensor : model_tensors(config)) count += tensor.count();
  return count;
}

}  // namespace kvmeter

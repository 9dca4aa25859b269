// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Loading checkpoints: every value against the test oracle's own reader, in every element, on every
// back end.
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <map>

#include "harness/core/error.hpp"
#include "harness/exec/memory.hpp"
#include "harness/model/checkpoint.hpp"
#include "harness/model/safetensors_floats.hpp"
#include "harness/model/weights.hpp"
#include "tests/harness/model/checkpoint_writer.hpp"
#include "tests/harness/model/weights_reader.hpp"
#include "tests/oracle/safetensors.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/temp_dir.hpp"

namespace kvmeter::test {
namespace {

const std::filesystem::path fixtures = KVMETER_SOURCE_DIR "/tests/fixtures";

float rounded_to(Element element, double value) {
  const auto x = static_cast<float>(value);
  if (element == Element::f16) return F16::from(x);
  return element == Element::bf16 ? static_cast<float>(BF16::from(x)) : x;
}

/// Row-major values [rows, columns] of tensors one below the other.
struct Expected {
  const oracle::Tensors& tensors;
  std::string prefix;
  Element element;

  std::vector<float> stack(const std::vector<std::string>& names) const {
    std::vector<float> values;
    for (const std::string& name : names) {
      const auto found = tensors.find((name == "lm_head.weight" ? "" : prefix) + name);
      if (found == tensors.end()) continue;
      for (const double value : found->second.data) values.push_back(rounded_to(element, value));
    }
    return values;
  }
  std::vector<float> transposed(const std::string& name) const {
    const oracle::Tensor& tensor = tensors.at(prefix + name);
    std::vector<float> values;
    for (std::int64_t column = 0; column < tensor.shape[1]; ++column)
      for (std::int64_t row = 0; row < tensor.shape[0]; ++row)
        values.push_back(rounded_to(
            element, tensor.data.at(static_cast<std::size_t>(row * tensor.shape[1] + column))));
    return values;
  }
};

template <class M>
void check_llama_layer(const Expected& expected, const LayerWeights<M>& layer,
                       const std::string& name) {
  const std::string attn = name + "self_attn.", mlp = name + "mlp.";
  CHECK(values_of(layer.attention_norm) == expected.stack({name + "input_layernorm.weight"}));
  CHECK(values_of(layer.qkv) ==
        expected.stack({attn + "q_proj.weight", attn + "k_proj.weight", attn + "v_proj.weight"}));
  CHECK(values_of(layer.qkv_bias) ==
        expected.stack({attn + "q_proj.bias", attn + "k_proj.bias", attn + "v_proj.bias"}));
  CHECK(values_of(layer.q_norm) == expected.stack({attn + "q_norm.weight"}));
  CHECK(values_of(layer.k_norm) == expected.stack({attn + "k_norm.weight"}));
  CHECK(values_of(layer.out) == expected.stack({attn + "o_proj.weight"}));
  CHECK(values_of(layer.mlp_norm) == expected.stack({name + "post_attention_layernorm.weight"}));
  CHECK(values_of(layer.up) == expected.stack({mlp + "gate_proj.weight", mlp + "up_proj.weight"}));
  CHECK(values_of(layer.down) == expected.stack({mlp + "down_proj.weight"}));
  CHECK(layer.attention_norm_bias.size() + layer.out_bias.size() + layer.up_bias.size() +
            layer.down_bias.size() ==
        0);
}

template <class M>
void check_gpt2_layer(const Expected& expected, const LayerWeights<M>& layer,
                      const std::string& name) {
  CHECK(values_of(layer.attention_norm) == expected.stack({name + "ln_1.weight"}));
  CHECK(values_of(layer.attention_norm_bias) == expected.stack({name + "ln_1.bias"}));
  CHECK(values_of(layer.qkv) == expected.transposed(name + "attn.c_attn.weight"));
  CHECK(values_of(layer.qkv_bias) == expected.stack({name + "attn.c_attn.bias"}));
  CHECK(values_of(layer.out) == expected.transposed(name + "attn.c_proj.weight"));
  CHECK(values_of(layer.out_bias) == expected.stack({name + "attn.c_proj.bias"}));
  CHECK(values_of(layer.mlp_norm) == expected.stack({name + "ln_2.weight"}));
  CHECK(values_of(layer.mlp_norm_bias) == expected.stack({name + "ln_2.bias"}));
  CHECK(values_of(layer.up) == expected.transposed(name + "mlp.c_fc.weight"));
  CHECK(values_of(layer.up_bias) == expected.stack({name + "mlp.c_fc.bias"}));
  CHECK(values_of(layer.down) == expected.transposed(name + "mlp.c_proj.weight"));
  CHECK(values_of(layer.down_bias) == expected.stack({name + "mlp.c_proj.bias"}));
}

template <class M>
void check_model(const Expected& expected, const ModelConfig& config,
                 const ModelWeights<M>& weights) {
  const bool gpt2 = config.family == "gpt2";
  CHECK(values_of(weights.embedding) ==
        expected.stack({gpt2 ? "wte.weight" : "embed_tokens.weight"}));
  CHECK(values_of(weights.position_embedding) == expected.stack({"wpe.weight"}));
  CHECK(values_of(weights.final_norm) == expected.stack({gpt2 ? "ln_f.weight" : "norm.weight"}));
  CHECK(values_of(weights.final_norm_bias) == expected.stack({"ln_f.bias"}));
  if (config.tied_embeddings)
    CHECK(weights.head.storage.data() == weights.embedding.storage.data());
  else
    CHECK(values_of(weights.head) == expected.stack({"lm_head.weight"}));
  for (std::size_t layer = 0; layer < weights.layers.size(); ++layer) {
    const std::string name = (gpt2 ? "h." : "layers.") + std::to_string(layer) + '.';
    gpt2 ? check_gpt2_layer(expected, weights.layers[layer], name)
         : check_llama_layer(expected, weights.layers[layer], name);
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("weights: every fixture is loaded value for value", "", TestExecs) {
  const std::string name =
      GENERATE("llama-gqa", "llama-mqa-tied", "llama3-rope-scaled", "mistral-sliding",
               "qwen2-bias-tied", "qwen3-qknorm", "gpt2-mha", "gpt2-hub-names");
  const Element element = GENERATE(Element::f32, Element::f16, Element::bf16);
  CAPTURE(name, name_of(element));
  const ModelConfig config = read_model_config(fixtures / name / "config.json");
  const oracle::Tensors tensors = oracle::read_checkpoint(fixtures / name);
  const auto weights = load_weights(TestType(), config, fixtures / name, element);
  const std::string prefix = name == "gpt2-hub-names" ? "" : std::string(tensor_prefix(config));
  check_model(Expected{tensors, prefix, element}, config, weights);
  CHECK(allocated_bytes(weights) == weights_bytes(config, element));
}

TEST_CASE("weights: matrices larger than a chunk, and of odd sizes") {
  ModelConfig config = small_config("gpt2", {{"vocab_size", "400001"}, {"n_layer", "1"}});
  const TempDir folder;
  auto tensors = checkpoint_tensors(config);
  write_file(folder / "model.safetensors", safetensors_bytes(tensors));
  const auto weights = load_weights(Kokkos::OpenMP(), config, folder.path(), Element::f32);
  const std::vector<float> values = values_of(weights.embedding);
  REQUIRE(values.size() == 400001U * 12);
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i) wrong += values[i] != static_cast<float>(i);
  CHECK(wrong == 0);
}

TEST_CASE("weights: a transposed matrix larger than a chunk") {
  const ModelConfig config = small_config(
      "gpt2", {{"n_embd", "1200"}, {"n_head", "12"}, {"n_layer", "1"}, {"n_inner", "5003"}});
  const TempDir folder;
  write_file(folder / "model.safetensors", safetensors_bytes(checkpoint_tensors(config)));
  const auto weights = load_weights(Kokkos::OpenMP(), config, folder.path(), Element::f32);
  const SafetensorsFile file = SafetensorsFile::open(folder / "model.safetensors");
  const std::vector<float> stored =
      read_floats(file.at("transformer.h.0.mlp.c_fc.weight"));        // [1200, 5003]
  const std::vector<float> values = values_of(weights.layers[0].up);  // [5003, 1200]
  std::int64_t wrong = 0;
  for (std::size_t row = 0; row < 5003; ++row)
    for (std::size_t column = 0; column < 1200; ++column)
      wrong += values[row * 1200 + column] != stored[column * 5003 + row];
  CHECK(wrong == 0);
}

TEST_CASE("weights: data that is not aligned") {
  const ModelConfig config = small_config("llama");
  const auto tensors = checkpoint_tensors(config);
  const std::string bytes = safetensors_bytes(tensors);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  const std::string header = bytes.substr(8, length), data = bytes.substr(8 + length);
  for (std::size_t padding = 0; padding < 4; ++padding) {
    const TempDir folder;
    write_file(folder / "model.safetensors",
               safetensors_bytes(header + std::string(padding, ' '), data));
    const auto weights = load_weights(Kokkos::Serial(), config, folder.path(), Element::f32);
    CHECK(values_of(weights.embedding).at(7) == 7);
    CHECK(values_of(weights.layers[0].attention_norm).at(1) == 19 * 12 + 1);
  }
}

TEMPLATE_TEST_CASE("weights: a written checkpoint comes back in its own element", "", float, F16,
                   BF16) {
  const Element element = std::is_same_v<TestType, float> ? Element::f32
                          : std::is_same_v<TestType, F16> ? Element::f16
                                                          : Element::bf16;
  const ModelConfig config = small_config("qwen2");
  auto tensors = checkpoint_tensors(config);
  for (WrittenTensor& tensor : tensors) {
    std::vector<float> values(tensor.bytes.size() / sizeof(float));
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    std::vector<TestType> stored;
    for (const float value : values) stored.push_back(round_to<TestType>(std::fmod(value, 251.0F)));
    constexpr const char* names[] = {"F32", "F16", "BF16"};
    tensor.type = names[static_cast<int>(element)];
    tensor.bytes = bytes_of_values(stored);
  }
  const TempDir folder;
  write_file(folder / "model.safetensors", safetensors_bytes(tensors));
  const auto weights = load_weights(Kokkos::OpenMP(), config, folder.path(), element);
  std::int64_t wrong = 0;
  const std::vector<float> values = values_of(weights.embedding);
  for (std::size_t i = 0; i < values.size(); ++i) wrong += values[i] != static_cast<float>(i % 251);
  CHECK(wrong == 0);
}

TEST_CASE("weights: an unsound checkpoint is refused") {
  const TempDir folder;
  const ModelConfig config = small_config("llama");
  CHECK_THROWS_AS(load_weights(Kokkos::Serial(), config, folder.path(), Element::f32), Error);
  auto tensors = checkpoint_tensors(config);
  tensors.pop_back();
  write_file(folder / "model.safetensors", safetensors_bytes(tensors));
  CHECK_THROWS_AS(load_weights(Kokkos::Serial(), config, folder.path(), Element::f32), Error);
}

TEST_CASE("read_floats: every type of float, no other") {
  const TempDir folder;
  write_file(
      folder / "f",
      safetensors_bytes({{"a", "F32", {1}, bytes_of_values<float>({0.1F})},
                         {"b", "BF16", {2}, bytes_of_values<std::uint16_t>({0x3f80, 0xc000})},
                         {"c", "F16", {1}, bytes_of_values<std::uint16_t>({0x0001})},
                         {"d", "I32", {1}, bytes_of_values<std::int32_t>({1})}}));
  const SafetensorsFile file = SafetensorsFile::open(folder / "f");
  CHECK(read_floats(file.at("a")) == std::vector{0.1F});
  CHECK(read_floats(file.at("b")) == std::vector{1.0F, -2.0F});
  CHECK(read_floats(file.at("c")) == std::vector{5.9604645e-8F});
  CHECK_THROWS_AS(read_floats(file.at("d")), Error);
}

}  // namespace kvmeter::test

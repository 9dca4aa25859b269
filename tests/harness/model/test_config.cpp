// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What is accepted in a config.json; test_config_refusals.cpp has the rest.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>

#include "harness/core/error.hpp"
#include "harness/model/config.hpp"
#include "harness/model/tensor_names.hpp"
#include "tests/harness/model/config_texts.hpp"

namespace kvmeter::test {
namespace {

using Windows = std::vector<std::int64_t>;
using Ids = std::vector<std::int64_t>;

ModelConfig parse(std::string_view family, const std::vector<Change>& changes = {}) {
  return parse_model_config(changed_config(family, changes), "folder/config.json");
}

}  // namespace

TEST_CASE("config: a llama") {
  const ModelConfig config = parse("llama");
  CHECK(config.name == "folder");
  CHECK(config.family == "llama");
  CHECK(config.n_layers == 4);
  CHECK(config.n_heads == 6);
  CHECK(config.n_kv_heads == 2);
  CHECK(config.head_dim == 4);
  CHECK(config.hidden_dim == 12);
  CHECK(config.ffn_dim == 20);
  CHECK(config.vocab_size == 19);
  CHECK(config.max_positions == 64);
  CHECK(config.norm == Norm::rms);
  CHECK(config.norm_epsilon == 1e-6);
  CHECK(config.positions == Positions::rope);
  CHECK(config.rope_theta == 10000);
  CHECK_FALSE(config.rope_scaling);
  CHECK(config.activation == Activation::swiglu);
  CHECK_FALSE((config.qkv_bias || config.out_bias || config.mlp_bias || config.qk_norm));
  CHECK_FALSE(config.tied_embeddings);
  CHECK(config.windows == Windows{0, 0, 0, 0});
  CHECK(config.eos_tokens.empty());
  CHECK_FALSE(config.element);
}

TEST_CASE("config: what the families differ in") {
  const ModelConfig qwen2 = parse("qwen2");
  CHECK((qwen2.qkv_bias && !qwen2.out_bias && !qwen2.mlp_bias && !qwen2.qk_norm));
  const ModelConfig qwen3 = parse("qwen3", {{"attention_bias", "true"}});
  CHECK((qwen3.qkv_bias && qwen3.out_bias && !qwen3.mlp_bias && qwen3.qk_norm));
  CHECK(parse("qwen3", {{"head_dim", ""}}).head_dim == 128);
  const ModelConfig gpt2 = parse("gpt2");
  CHECK((gpt2.qkv_bias && gpt2.out_bias && gpt2.mlp_bias && gpt2.tied_embeddings));
  CHECK(gpt2.norm == Norm::layer);
  CHECK(gpt2.positions == Positions::learned);
  CHECK(gpt2.activation == Activation::gelu_tanh);
  CHECK(gpt2.n_kv_heads == 3);
  CHECK(gpt2.head_dim == 4);
  CHECK(gpt2.ffn_dim == 48);
  CHECK(parse("gpt2", {{"n_inner", "null"}}).ffn_dim == 48);
  CHECK(parse("gpt2", {{"n_inner", "7"}}).ffn_dim == 7);
}

TEST_CASE("config: keys that may be absent") {
  CHECK(parse("llama", {{"num_key_value_heads", ""}}).n_kv_heads == 6);
  CHECK(parse("llama", {{"head_dim", "null"}}).head_dim == 2);
  CHECK(parse("llama", {{"tie_word_embeddings", "true"}}).tied_embeddings);
  CHECK_FALSE(parse("gpt2", {{"tie_word_embeddings", "false"}}).tied_embeddings);
  CHECK(parse("llama", {{"attention_bias", "true"}}).out_bias);
  CHECK(parse("llama", {{"mlp_bias", "true"}}).mlp_bias);
  CHECK(parse("llama", {{"architectures", R"(["LlamaForCausalLM"])"}}).family == "llama");
  CHECK(parse("llama", {{"num_experts", "0"}, {"partial_rotary_factor", "1.0"}}).family == "llama");
}

TEST_CASE("config: end-of-sequence ids and dtype") {
  CHECK(parse("llama", {{"eos_token_id", "2"}}).eos_tokens == Ids{2});
  CHECK(parse("llama", {{"eos_token_id", "[2, 18]"}}).eos_tokens == Ids{2, 18});
  CHECK(parse("llama", {{"eos_token_id", "null"}}).eos_tokens.empty());
  CHECK(parse("llama", {{"torch_dtype", "\"bfloat16\""}}).element == Element::bf16);
  CHECK(parse("llama", {{"dtype", "\"float16\""}}).element == Element::f16);
  CHECK(parse("llama", {{"dtype", "\"float32\""}, {"torch_dtype", "\"float16\""}}).element ==
        Element::f32);
}

TEST_CASE("config: rope in the older and the newer spelling") {
  const std::string llama3 = R"("factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                "original_max_position_embeddings": 8192)";
  const std::vector<Change> changes = GENERATE_COPY(
      std::vector<Change>{{"rope_theta", "5e5"},
                          {"rope_scaling", R"({"rope_type": "llama3", )" + llama3 + "}"}},
      std::vector<Change>{{"rope_theta", "5e5"},
                          {"rope_scaling", R"({"type": "llama3", )" + llama3 + "}"}},
      std::vector<Change>{
          {"rope_parameters", R"({"rope_theta": 5e5, "rope_type": "llama3", )" + llama3 + "}"}});
  const ModelConfig config = parse("llama", changes);
  CHECK(config.rope_theta == 500000);
  REQUIRE(config.rope_scaling);
  CHECK(config.rope_scaling->factor == 32);
  CHECK(config.rope_scaling->low_freq_factor == 1);
  CHECK(config.rope_scaling->high_freq_factor == 4);
  CHECK(config.rope_scaling->original_positions == 8192);
}

TEST_CASE("config: plain rope") {
  const ModelConfig newer =
      parse("qwen3", {{"rope_parameters", R"({"rope_theta": 1000000, "rope_type": "default"})"}});
  CHECK(newer.rope_theta == 1e6);
  CHECK_FALSE(newer.rope_scaling);
  CHECK_FALSE(parse("llama", {{"rope_scaling", "null"}, {"rope_theta", "250000"}}).rope_scaling);
  CHECK(
      parse("llama", {{"rope_theta", "20000"}, {"rope_parameters", R"({"rope_type": "default"})"}})
          .rope_theta == 20000);
}

TEST_CASE("config: sliding windows") {
  CHECK(parse("mistral", {{"sliding_window", "24"}}).windows == Windows{24, 24, 24, 24});
  CHECK(parse("mistral", {{"sliding_window", "null"}}).windows == Windows{0, 0, 0, 0});
  CHECK(parse("mistral").windows == Windows{4096, 4096, 4096, 4096});
  const Change on{"use_sliding_window", "true"}, window{"sliding_window", "24"};
  CHECK(parse("qwen2", {window}).windows == Windows{0, 0, 0, 0});
  CHECK(parse("qwen2", {on, window}).windows == Windows{0, 0, 0, 0});  // from layer 28 on
  CHECK(parse("qwen2", {on, window, {"max_window_layers", "3"}}).windows == Windows{0, 0, 0, 24});
  CHECK(parse("qwen3", {on, window, {"max_window_layers", "0"}}).windows ==
        Windows{24, 24, 24, 24});
  const Change types{"layer_types", R"(["full_attention", "sliding_attention", "full_attention",
                                        "sliding_attention"])"};
  CHECK(parse("qwen3", {on, window, types}).windows == Windows{0, 24, 0, 24});
}

TEST_CASE("config: the files of workloads/models are all read") {
  for (const auto& entry :
       std::filesystem::directory_iterator(KVMETER_SOURCE_DIR "/workloads/models")) {
    if (entry.path().extension() != ".json") continue;
    const ModelConfig config = read_model_config(entry.path());
    CHECK(config.name == entry.path().stem());
    CHECK(parameter_count(config) > 0);
  }
}

TEST_CASE("config: parameter counts of known models") {
  const std::filesystem::path models = KVMETER_SOURCE_DIR "/workloads/models";
  const auto [name, count] =
      GENERATE(table<std::string, std::int64_t>({{"smollm2-135m", 134'515'008},
                                                 {"gpt2", 124'439'808},
                                                 {"llama-2-7b", 6'738'415'616},
                                                 {"llama-3-8b", 8'030'261'248},
                                                 {"llama-3.2-1b", 1'235'814'400},
                                                 {"mistral-7b-v0.1", 7'241'732'096},
                                                 {"tinyllama-1.1b", 1'100'048'384},
                                                 {"qwen2.5-0.5b", 494'032'768},
                                                 {"qwen3-0.6b", 596'049'920}}));
  CAPTURE(name);
  CHECK(parameter_count(read_model_config(models / (name + ".json"))) == count);
}

TEST_CASE("reshape: KV heads and layers") {
  const auto [text, heads] =
      GENERATE(table<std::string, std::int64_t>({{"model", 2}, {"mha", 6}, {"mqa", 1}, {"3", 3}}));
  ModelConfig config = parse("llama");
  reshape(config, text, 0);
  CHECK(config.n_kv_heads == heads);
  CHECK(config.n_layers == 4);
}

TEST_CASE("reshape: more layers are like the last") {
  ModelConfig config =
      parse("qwen2",
            {{"use_sliding_window", "true"}, {"sliding_window", "24"}, {"max_window_layers", "3"}});
  reshape(config, "model", 6);
  CHECK(config.windows == Windows{0, 0, 0, 24, 24, 24});
  reshape(config, "model", 2);
  CHECK(config.windows == Windows{0, 0});
  CHECK(config.n_layers == 2);
}

TEST_CASE("reshape: what is not possible is refused and changes nothing") {
  const std::string kv_heads =
      GENERATE("0", "4", "-1", "7", "", "many", "3x", "99999999999999999999");
  ModelConfig config = parse("llama");
  CHECK_THROWS_AS(reshape(config, kv_heads, 0), UsageError);
  CHECK_THROWS_AS(reshape(config, "model", -1), UsageError);
  CHECK_THROWS_AS(reshape(config, "mqa", 1'000'000), UsageError);
  CHECK(config.n_kv_heads == 2);
  CHECK(config.n_layers == 4);
}

}  // namespace kvmeter::test

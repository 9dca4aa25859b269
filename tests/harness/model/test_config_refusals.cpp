// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Every refusal of a config.json: one line that names the file, the key and the value or what is
// allowed.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <filesystem>
#include <fstream>
#include <optional>

#include "harness/core/error.hpp"
#include "harness/model/config.hpp"
#include "tests/harness/model/config_texts.hpp"
#include "tests/support/temp_dir.hpp"

namespace kvmeter::test {
namespace {

/// The message that parsing throws; nullopt if it throws none.
std::optional<std::string> message_of(const std::string& json) {
  try {
    parse_model_config(json, "some/config.json");
  } catch (const Error& error) {
    return error.what();
  }
  return std::nullopt;
}

bool is_one_line_naming(const std::optional<std::string>& message, const std::string& key) {
  return message && message->starts_with("some/config.json: ") &&
         message->find('\n') == std::string::npos && message->find(key) != std::string::npos &&
         message->size() < 300;
}

void check_refused(std::string_view family, const std::string& key, const std::string& value) {
  const auto message = message_of(changed_config(family, {{key, value}}));
  CAPTURE(family, key, value, message.value_or("(accepted)"));
  CHECK(is_one_line_naming(message, key));
}

}  // namespace

TEST_CASE("config: each key that a shape needs") {
  for (const std::string key : {"hidden_size", "num_attention_heads", "num_hidden_layers",
                                "intermediate_size", "vocab_size", "max_position_embeddings"})
    for (const std::string value : {"", "null", "0", "-1", "4000000000", "1e3", "\"12\"", "[12]",
                                    "true", "9223372036854775807", "18446744073709551615", "1e300"})
      check_refused("llama", key, value);
  for (const std::string key : {"n_embd", "n_head", "n_layer", "n_positions", "vocab_size"})
    for (const std::string value : {"", "0", "-3", "1.5", "4000000000"})
      check_refused("gpt2", key, value);
  for (const std::string value : {"", "0", "-1e-5", "2", "\"small\"", "null"}) {
    check_refused("llama", "rms_norm_eps", value);
    check_refused("gpt2", "layer_norm_epsilon", value);
  }
}

TEST_CASE("config: heads that do not go together") {
  check_refused("llama", "num_key_value_heads", "4");
  check_refused("llama", "num_key_value_heads", "0");
  check_refused("llama", "num_key_value_heads", "12");
  check_refused("mistral", "num_key_value_heads", "");
  check_refused("llama", "head_dim", "3");  // RoPE turns pairs
  check_refused("llama", "head_dim", "0");
  check_refused("gpt2", "n_embd", "13");
  CHECK(is_one_line_naming(
      message_of(changed_config("llama", {{"head_dim", ""}, {"hidden_size", "13"}})),
      "hidden_size"));
}

TEST_CASE("config: families, architectures and activations") {
  for (const std::string value :
       {"", "null", "\"gemma2\"", "\"qwen3_moe\"", "\"LLAMA\"", "7", "[\"llama\"]"})
    check_refused("llama", "model_type", value);
  for (const std::string value :
       {"\"LlamaForCausalLM\"", "[]", "[\"MistralForCausalLM\"]", "[7]",
        "[\"LlamaForCausalLM\", \"LlamaForCausalLM\"]", "[\"LlamaForSequenceClassification\"]"})
    check_refused("llama", "architectures", value);
  for (const std::string value : {"", "\"gelu\"", "\"relu\"", "3"})
    check_refused("llama", "hidden_act", value);
  for (const std::string value : {"", "\"gelu\"", "\"silu\""})
    check_refused("gpt2", "activation_function", value);
  const auto message = message_of(changed_config("llama", {{"model_type", "\"gemma2\""}}));
  CHECK(message ==
        "some/config.json: model_type = \"gemma2\": not supported; allowed: llama, mistral, qwen2, "
        "qwen3, gpt2");
}

TEST_CASE("config: features that would change results") {
  check_refused("llama", "quantization_config", R"({"quant_method": "gptq", "bits": 4})");
  check_refused("llama", "partial_rotary_factor", "0.5");
  check_refused("llama", "attn_logit_softcapping", "50.0");
  check_refused("llama", "final_logit_softcapping", "30.0");
  check_refused("llama", "num_experts", "8");
  check_refused("llama", "num_local_experts", "8");
  check_refused("llama", "sliding_window", "4096");
  check_refused("llama", "layer_types", R"(["sliding_attention"])");
  check_refused("llama", "use_qk_norm", "true");
  check_refused("llama", "logits_scaling", "8.0");
  check_refused("mistral", "attention_bias", "true");
  check_refused("qwen3", "mlp_bias", "true");
  check_refused("gpt2", "scale_attn_weights", "false");
  check_refused("gpt2", "scale_attn_by_inverse_layer_idx", "true");
  check_refused("gpt2", "add_cross_attention", "true");
  check_refused("gpt2", "is_encoder_decoder", "true");
  check_refused("gpt2", "rope_scaling", R"({"rope_type": "llama3"})");
}

TEST_CASE("config: rope types other than default and llama3 are refused by name") {
  const std::string type =
      GENERATE("linear", "dynamic", "yarn", "longrope", "su", "mrope", "proportional");
  const std::string quoted = '"' + type + '"';
  for (const std::string key : {"rope_type", "type"}) {
    const auto message = message_of(changed_config(
        "llama", {{"rope_scaling", "{\"" + key + "\": " + quoted + ", \"factor\": 2.0}"}}));
    CHECK(is_one_line_naming(message, "rope_scaling." + key + " = " + quoted));
  }
  const auto message = message_of(changed_config(
      "llama", {{"rope_parameters", R"({"rope_theta": 1e4, "rope_type": )" + quoted + "}"}}));
  CHECK(is_one_line_naming(message, quoted));
}

TEST_CASE("config: rope with odd values") {
  const std::string good = R"({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 8192})";
  REQUIRE_FALSE(message_of(changed_config("llama", {{"rope_scaling", good}})));
  for (const std::string key :
       {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"})
    for (const std::string value : {"", "0", "-1", "\"8\"", "1e30", "null"}) {
      auto json = nlohmann::json::parse(good);
      if (value.empty())
        json.erase(key);
      else
        json[key] = nlohmann::json::parse(value);
      CAPTURE(key, value);
      CHECK(is_one_line_naming(message_of(changed_config("llama", {{"rope_scaling", json.dump()}})),
                               key));
    }
  check_refused("llama", "rope_theta", "0");
  check_refused("llama", "rope_theta", "\"10000\"");
  check_refused("llama", "rope_theta", "1e40");
  check_refused("llama", "rope_scaling", "[]");
  check_refused("llama", "rope_scaling", "{}");
  check_refused("llama", "rope_scaling", "2.0");
  check_refused("llama", "rope_parameters", R"({"full_attention": {"rope_type": "default"}})");
  check_refused("llama", "rope_parameters",
                R"({"rope_type": "default", "mrope_section": [16, 24, 24]})");
  check_refused("llama", "rope_parameters",
                R"({"rope_type": "default", "partial_rotary_factor": 0.25})");
  const auto crossed = R"({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 4.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 8192})";
  check_refused("llama", "rope_scaling", crossed);
}

TEST_CASE("config: two spellings of rope that contradict each other") {
  const Change newer{"rope_parameters", R"({"rope_type": "default", "rope_theta": 20000})"};
  CHECK(is_one_line_naming(message_of(changed_config("llama", {newer, {"rope_theta", "10000"}})),
                           "rope_theta"));
  CHECK(is_one_line_naming(
      message_of(changed_config("llama", {newer, {"rope_scaling", R"({"rope_type": "default"})"}})),
      "rope_scaling"));
}

TEST_CASE("config: windows") {
  for (const std::string value : {"0", "-4", "1.5", "\"4096\"", "true"})
    check_refused("mistral", "sliding_window", value);
  check_refused("qwen2", "use_sliding_window", "1");
  check_refused("qwen2", "layer_types", R"(["full_attention"])");
  check_refused("qwen2", "layer_types", R"("full_attention")");
  check_refused("qwen2", "layer_types",
                R"(["full_attention", "full_attention", "full_attention", "chunked_attention"])");
  check_refused("qwen2", "layer_types",
                R"(["full_attention", "full_attention", "full_attention", "sliding_attention"])");
  CHECK(is_one_line_naming(message_of(changed_config("qwen2", {{"use_sliding_window", "true"},
                                                               {"max_window_layers", "-1"}})),
                           "max_window_layers"));
}

TEST_CASE("config: ids, types and switches") {
  for (const std::string value :
       {"19", "-1", "1.0", "\"</s>\"", "[1, 19]", "[[1]]", "{}", "18446744073709551615"})
    check_refused("llama", "eos_token_id", value);
  for (const std::string value : {"\"float64\"", "\"float8_e4m3fn\"", "16", "\"\""})
    check_refused("llama", "torch_dtype", value);
  for (const std::string key : {"tie_word_embeddings", "attention_bias", "mlp_bias"})
    for (const std::string value : {"1", "\"true\"", "[]"}) check_refused("llama", key, value);
}

TEST_CASE("config: text that is no such file") {
  for (const std::string text :
       {"", "{", "[]", "null", "7", "{\"a\": 1e999}", "{\"a\": 1} x", "\xff\xfe{}", "{'a': 1}",
        "{\"model_type\": \"llama\", \"model_type\": \"llama\"}", "{\"a\": {\"b\": 1, \"b\": 2}}"})
    CHECK(is_one_line_naming(message_of(text), ""));
  CHECK(is_one_line_naming(message_of(std::string(1'000'000, '[')), "deep"));
  CHECK(is_one_line_naming(message_of("{\"" + std::string(1'000'000, 'k') + "\": 1, \"" +
                                      std::string(1'000'000, 'k') + "\": 1}"),
                           "twice"));
  CHECK(is_one_line_naming(
      message_of(changed_config(
          "llama", {{"hidden_act", "\"a\\nb\\u0000" + std::string(5000, 'x') + "\""}})),
      "hidden_act"));
}

TEST_CASE("config: same key in sister objects is no duplicate") {
  CHECK_FALSE(message_of(changed_config(
      "llama", {{"one", "{\"a\": 1}"}, {"two", "{\"a\": [{\"a\": 1}, {\"a\": 1}]}"}})));
}

TEST_CASE("config: truncated anywhere it is refused, not read in part") {
  const std::string whole = base_config("llama");
  for (std::size_t length = 0; length < whole.size(); ++length)
    CHECK(message_of(whole.substr(0, length)));
}

TEST_CASE("config: files that cannot be read") {
  const TempDir folder;
  CHECK_THROWS_AS(read_model_config(folder / "none.json"), Error);
  CHECK_THROWS_AS(read_model_config(folder.path()), Error);
  std::ofstream(folder / "large.json") << std::string((16 << 20) + 1, ' ');
  CHECK_THROWS_AS(read_model_config(folder / "large.json"), Error);
  std::ofstream(folder / "tiny.json") << base_config("llama");
  CHECK(read_model_config(folder / "tiny.json").name == "tiny");
}

}  // namespace kvmeter::test

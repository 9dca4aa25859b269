// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Checkpoint folders: the index and its shards, and what a configuration demands of the tensors.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <optional>

#include "harness/core/error.hpp"
#include "harness/model/checkpoint.hpp"
#include "tests/harness/model/checkpoint_writer.hpp"
#include "tests/support/temp_dir.hpp"

namespace kvmeter::test {
namespace {

using Tensors = std::vector<WrittenTensor>;

constexpr const char* index_file = "model.safetensors.index.json";

/// The message of opening the folder and binding its tensors; nullopt: all well.
std::optional<std::string> message_of(const TempDir& folder, const ModelConfig& config) {
  try {
    const Checkpoint checkpoint = Checkpoint::open(folder.path());
    bind_tensors(config, checkpoint);
  } catch (const Error& error) {
    return error.what();
  }
  return std::nullopt;
}

std::optional<std::string> message_of(const ModelConfig& config, const Tensors& tensors) {
  const TempDir folder;
  write_file(folder / "model.safetensors", safetensors_bytes(tensors));
  return message_of(folder, config);
}

void check_names(const std::optional<std::string>& message, const std::string& first,
                 const std::string& second) {
  CAPTURE(message.value_or("(accepted)"), first, second);
  CHECK((message && message->find(first) != std::string::npos &&
         message->find(second) != std::string::npos && message->find('\n') == std::string::npos));
}

/// Two shards, a.safetensors and b.safetensors, and the index that says so.
struct Sharded {
  TempDir folder;
  ModelConfig config = small_config("llama");
  nlohmann::json index;

  Sharded() {
    Tensors first = checkpoint_tensors(config), second;
    while (second.size() < first.size()) {
      second.push_back(first.back());
      first.pop_back();
    }
    write_file(folder / "a.safetensors", safetensors_bytes(first));
    write_file(folder / "b.safetensors", safetensors_bytes(second));
    for (const auto& tensor : first) index["weight_map"][tensor.name] = "a.safetensors";
    for (const auto& tensor : second) index["weight_map"][tensor.name] = "b.safetensors";
    index["metadata"]["total_size"] = 1;
  }

  std::optional<std::string> message() const {
    write_file(folder / index_file, index.dump());
    return message_of(folder, config);
  }
};

const std::string embedding = "model.embed_tokens.weight";

}  // namespace

TEST_CASE("checkpoint: every family is bound, with and without the prefix") {
  const std::string family = GENERATE("llama", "mistral", "qwen2", "qwen3", "gpt2");
  const ModelConfig config = small_config(family);
  Tensors tensors = checkpoint_tensors(config);
  CHECK_FALSE(message_of(config, tensors));
  for (WrittenTensor& tensor : tensors)
    if (tensor.name.starts_with(tensor_prefix(config)))
      tensor.name.erase(0, tensor_prefix(config).size());
  CHECK_FALSE(message_of(config, tensors));
}

TEST_CASE("checkpoint: a missing tensor is named") {
  const std::string family = GENERATE("llama", "qwen2", "qwen3", "gpt2");
  const ModelConfig config = small_config(family);
  const Tensors whole = checkpoint_tensors(config);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    Tensors tensors = whole;
    tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(i));
    check_names(message_of(config, tensors), whole[i].name, "is missing");
  }
}

TEST_CASE("checkpoint: a surplus tensor is named") {
  const ModelConfig config = small_config("llama");
  for (const std::string name :
       {"model.layers.0.self_attn.q_proj.bias", "model.layers.4.input_layernorm.weight", "more",
        "model.layers.0.self_attn.q_norm.weight"}) {
    Tensors tensors = checkpoint_tensors(config);
    tensors.push_back({name, "F32", {1}, bytes_of_values<float>({1})});
    check_names(message_of(config, tensors), "tensor " + name, "surplus");
  }
}

TEST_CASE("checkpoint: harmless buffers are let pass, of any type") {
  const ModelConfig gpt2 = small_config("gpt2");
  Tensors tensors = checkpoint_tensors(gpt2);
  tensors.push_back({"transformer.h.0.attn.bias", "BOOL", {1, 1, 2, 2}, "1011"});
  tensors.push_back(
      {"transformer.h.0.attn.masked_bias", "F32", {}, bytes_of_values<float>({-1e4F})});
  CHECK_FALSE(message_of(gpt2, tensors));
  const ModelConfig llama = small_config("llama");
  tensors = checkpoint_tensors(llama);
  tensors.push_back({"model.layers.0.self_attn.rotary_emb.inv_freq",
                     "F32",
                     {2},
                     bytes_of_values<float>({1, 0.1F})});
  CHECK_FALSE(message_of(llama, tensors));
}

TEST_CASE("checkpoint: a head beside tied embeddings must equal them") {
  const ModelConfig config = small_config("llama", {{"tie_word_embeddings", "true"}});
  Tensors tensors = checkpoint_tensors(config);
  WrittenTensor head = tensor_named(tensors, embedding);
  head.name = "lm_head.weight";
  tensors.push_back(head);
  CHECK_FALSE(message_of(config, tensors));
  tensors.back().bytes[5] ^= 1;
  check_names(message_of(config, tensors), "lm_head.weight", "differs");
  check_names(message_of(small_config("llama"), checkpoint_tensors(config)), "lm_head.weight",
              "missing");
}

TEST_CASE("checkpoint: shapes that config.json does not ask for") {
  const ModelConfig config = small_config("llama");
  for (const std::vector<std::int64_t>& shape :
       std::vector<std::vector<std::int64_t>>{{12, 19}, {19 * 12}, {19, 12, 1}, {38, 6}}) {
    Tensors tensors = checkpoint_tensors(config);
    tensor_named(tensors, embedding).shape = shape;
    check_names(message_of(config, tensors), "tensor " + embedding + ": shape", "[19, 12]");
  }
  check_names(message_of(small_config("llama", {{"vocab_size", "20"}}), checkpoint_tensors(config)),
              embedding, "[20, 12]");
  ModelConfig gpt2 = small_config("gpt2");
  Tensors tensors = checkpoint_tensors(gpt2);
  tensor_named(tensors, "transformer.h.1.attn.c_attn.weight").shape = {
      36, 12};  // as a Linear would have it
  check_names(message_of(gpt2, tensors), "transformer.h.1.attn.c_attn.weight", "[12, 36]");
}

TEST_CASE("checkpoint: element types that are no weights") {
  const auto [type, bytes] =
      GENERATE(table<std::string, int>({{"I8", 1}, {"F8_E4M3", 1}, {"I32", 4}, {"F64", 8}}));
  const ModelConfig config = small_config("llama");
  Tensors tensors = checkpoint_tensors(config);
  tensors.front().type = type;
  tensors.front().bytes.resize(static_cast<std::size_t>(19 * 12 * bytes));
  check_names(message_of(config, tensors), tensors.front().name, "F32, F16, BF16");
}

TEST_CASE("checkpoint: folders without one") {
  const TempDir folder;
  const ModelConfig config = small_config("llama");
  check_names(message_of(folder, config), folder.path().string(), "neither");
  CHECK_THROWS_AS(Checkpoint::open(folder / "none"), Error);
  write_file(folder / "model.safetensors", "");
  check_names(message_of(folder, config), "model.safetensors", "too few");
}

TEST_CASE("checkpoint: shards") {
  Sharded c;
  CHECK_FALSE(c.message());
  CHECK(Checkpoint::open(c.folder.path()).tensors().size() == c.index["weight_map"].size());
}

TEST_CASE("checkpoint: a shard that is missing, truncated or not what the index says") {
  Sharded c;
  c.index["weight_map"][embedding] = "b.safetensors";
  check_names(c.message(), embedding, "not in shard b.safetensors");
  c.index["weight_map"][embedding] = "c.safetensors";
  check_names(c.message(), "c.safetensors", "is missing");
  c.index["weight_map"].erase(embedding);
  check_names(c.message(), embedding, "not listed");
  c.index["weight_map"][embedding] = "a.safetensors";
  c.index["weight_map"]["more"] = "a.safetensors";
  check_names(c.message(), "more", "not in shard a.safetensors");
  c.index["weight_map"].erase("more");
  std::filesystem::resize_file(c.folder / "b.safetensors", 100);
  check_names(c.message(), "b.safetensors", "truncated");
}

TEST_CASE("checkpoint: a tensor in two shards") {
  Sharded c;
  const Tensors tensors = checkpoint_tensors(c.config);
  write_file(c.folder / "c.safetensors", safetensors_bytes({tensors.front()}));
  c.index["weight_map"]["other"] = "c.safetensors";
  check_names(c.message(), tensors.front().name, "is also in");
}

TEST_CASE("checkpoint: an index that is none") {
  const TempDir folder;
  const ModelConfig config = small_config("llama");
  for (const std::string text :
       {"", "[]", "{}", R"({"weight_map": {}})", R"({"weight_map": []})",
        R"({"weight_map": {"a": 1}})", R"({"weight_map": {"a": "../model.safetensors"}})",
        R"({"weight_map": {"a": "/etc/passwd"}})", R"({"weight_map": {"a": ""}})",
        R"({"weight_map": {"a": ".."}})", R"({"weight_map": {"a": "."}})",
        R"({"weight_map": {"a": "b", "a": "c"}})"}) {
    CAPTURE(text);
    write_file(folder / index_file, text);
    check_names(message_of(folder, config), index_file, "");
  }
}

}  // namespace kvmeter::test

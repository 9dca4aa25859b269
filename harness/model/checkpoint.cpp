// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/checkpoint.hpp"

#include <algorithm>
#include <set>

#include "harness/core/error.hpp"
#include "harness/model/detail/json.hpp"

namespace kvmeter {
namespace {

constexpr const char* single_name = "model.safetensors";
constexpr const char* index_name = "model.safetensors.index.json";

/// Tensor -> shard, as the index file says.
std::map<std::string, std::string> read_index(const std::filesystem::path& index) {
  constexpr std::size_t max_bytes = 64 << 20;
  constexpr int max_depth = 8;
  const std::string where = index.string();
  const detail::Json root =
      detail::parse_json(detail::read_text(index, max_bytes), where, max_depth);
  const detail::JsonObject map = detail::JsonObject(root, where).object("weight_map");
  std::map<std::string, std::string> shards;
  for (const auto& [tensor, value] : map.json().items()) {
    const std::string shard = map.string(tensor);
    const bool plain = !shard.empty() && std::filesystem::path(shard).filename() == shard &&
                       shard != "." && shard != "..";
    if (!plain) map.refuse(tensor, "names of files in the same folder");
    shards.emplace(tensor, shard);
  }
  KVMETER_EXPECTS(!shards.empty(), "{}: weight_map is empty", where);
  return shards;
}

}  // namespace

Checkpoint Checkpoint::open(const std::filesystem::path& folder) {
  Checkpoint checkpoint;
  std::error_code error;
  KVMETER_EXPECTS(std::filesystem::is_directory(folder, error), "{}: no such folder",
                  folder.string());
  if (std::filesystem::exists(folder / single_name, error)) {
    checkpoint.m_where = (folder / single_name).string();
    checkpoint.add(folder / single_name);
  } else if (std::filesystem::exists(folder / index_name, error)) {
    checkpoint.open_index(folder / index_name);
  } else {
    fail("{}: has neither {} nor {}", folder.string(), single_name, index_name);
  }
  return checkpoint;
}

void Checkpoint::add(const std::filesystem::path& file) {
  m_files.push_back(SafetensorsFile::open(file));
  for (const auto& [name, tensor] : m_files.back().tensors()) {
    const bool is_new = m_tensors.emplace(name, &tensor).second;
    KVMETER_EXPECTS(is_new, "{}: tensor {} is also in {}", file.string(), name, find(name)->file);
  }
}

void Checkpoint::open_index(const std::filesystem::path& index) {
  m_where = index.string();
  const std::map<std::string, std::string> shards = read_index(index);
  std::set<std::string> names;
  for (const auto& [tensor, shard] : shards) names.insert(shard);
  for (const std::string& name : names) {
    const auto file = index.parent_path() / name;
    KVMETER_EXPECTS(std::filesystem::exists(file), "{}: shard {} is missing", m_where,
                    file.string());
    add(file);
  }
  for (const auto& [name, shard] : shards) {
    const FileTensor* tensor = find(name);
    KVMETER_EXPECTS(tensor != nullptr && tensor->file == (index.parent_path() / shard).string(),
                    "{}: tensor {} is not in shard {}", m_where, name, shard);
  }
  for (const auto& [name, tensor] : m_tensors)
    KVMETER_EXPECTS(shards.contains(name), "{}: tensor {} is not listed in {}", tensor->file, name,
                    m_where);
}

const FileTensor* Checkpoint::find(std::string_view name) const {
  const auto found = m_tensors.find(name);
  return found == m_tensors.end() ? nullptr : found->second;
}

namespace {

void check_type(const FileTensor& tensor) {
  if (tensor.type != TensorType::F32 && tensor.type != TensorType::F16 &&
      tensor.type != TensorType::BF16)
    refuse_type(tensor, "F32, F16, BF16");
}

void check_shape(const FileTensor& tensor, const ModelTensor& expected) {
  const std::vector<std::int64_t> shape = expected.file_shape();
  KVMETER_EXPECTS(tensor.shape == shape,
                  "{}: tensor {}: shape {}, but the model's config.json asks for {}", tensor.file,
                  tensor.name, shape_text(tensor.shape), shape_text(shape));
}

void check_tied_head(const FileTensor& head, const FileTensor& embedding) {
  const bool equal = head.type == embedding.type && std::ranges::equal(head.data, embedding.data);
  detail::MappedFile::release(head.data);
  detail::MappedFile::release(embedding.data);
  KVMETER_EXPECTS(equal,
                  "{}: tensor {} differs from {}, but config.json ties them (tie_word_embeddings)",
                  head.file, head.name, embedding.name);
}

void check_surplus(const ModelConfig& config, const Checkpoint& checkpoint,
                   const std::vector<BoundTensor>& bound) {
  std::set<const FileTensor*> used;
  for (const BoundTensor& tensor : bound) used.insert(tensor.file);
  for (const auto& [name, tensor] : checkpoint.tensors()) {
    if (used.contains(tensor) || is_harmless_buffer(name)) continue;
    if (config.tied_embeddings && name == "lm_head.weight")
      check_tied_head(*tensor, *bound.front().file);  // the embedding comes first
    else
      fail("{}: tensor {} is surplus: a {} model of this config.json has none", tensor->file, name,
           config.family);
  }
}

}  // namespace

std::vector<BoundTensor> bind_tensors(const ModelConfig& config, const Checkpoint& checkpoint) {
  std::vector<BoundTensor> bound;
  std::string prefix(tensor_prefix(config));
  for (ModelTensor& model : model_tensors(config)) {
    if (bound.empty() && checkpoint.find(model.name) != nullptr) prefix.clear();
    const std::string name = (model.prefixed ? prefix : "") + model.name;
    const FileTensor* file = checkpoint.find(name);
    KVMETER_EXPECTS(file != nullptr, "{}: tensor {} is missing", checkpoint.where(), name);
    check_type(*file);
    check_shape(*file, model);
    bound.push_back({std::move(model), file});
  }
  check_surplus(config, checkpoint, bound);
  return bound;
}

}  // namespace kvmeter

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The weights of a checkpoint folder, in one safetensors file or in the shards of an index, and
// their comparison with what the model's configuration asks for. Converts nothing.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/config.hpp"
#include "harness/model/safetensors.hpp"
#include "harness/model/tensor_names.hpp"

namespace kvmeter {

class Checkpoint {
 public:
  /// Opens FOLDER/model.safetensors or, where there is none, every shard that
  /// FOLDER/model.safetensors.index.json names. Throws Error on a shard that is missing, a tensor
  /// that is not in the shard it is said to be in, and a tensor that the index does not list.
  static Checkpoint open(const std::filesystem::path& folder);

  [[nodiscard]] const FileTensor* find(std::string_view name) const;  // nullptr: has none
  [[nodiscard]] const std::map<std::string, const FileTensor*, std::less<>>& tensors() const {
    return m_tensors;
  }
  [[nodiscard]] const std::string& where() const { return m_where; }  // file, for messages

 private:
  void add(const std::filesystem::path& file);
  void open_index(const std::filesystem::path& index);

  std::string m_where;
  std::vector<SafetensorsFile> m_files;
  std::map<std::string, const FileTensor*, std::less<>> m_tensors;
};

/// A tensor of the model with the one of the checkpoint that holds its values.
struct BoundTensor {
  ModelTensor model;
  const FileTensor* file;  // of the Checkpoint
};

/// Finds every tensor of the model, with or without the family's prefix. Throws Error that names
/// file and tensor where one is missing, surplus, or of another shape or type. Surplus but let pass
/// are harmless buffers (is_harmless_buffer) and, beside tied embeddings, a head that equals them.
std::vector<BoundTensor> bind_tensors(const ModelConfig& config, const Checkpoint& checkpoint);

}  // namespace kvmeter

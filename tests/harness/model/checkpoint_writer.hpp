// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The tensors of a small made-up checkpoint, to be written whole or damaged.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/model/config.hpp"
#include "harness/model/tensor_names.hpp"
#include "tests/harness/model/config_texts.hpp"
#include "tests/harness/model/safetensors_writer.hpp"

namespace kvmeter::test {

inline ModelConfig small_config(std::string_view family, const std::vector<Change>& changes = {}) {
  return parse_model_config(changed_config(family, changes), family.data());
}

/// All tensors of the model as F32, with the family's prefix, of values 0, 1, 2, ... throughout.
inline std::vector<WrittenTensor> checkpoint_tensors(const ModelConfig& config) {
  std::vector<WrittenTensor> tensors;
  float value = 0;
  for (const ModelTensor& model : model_tensors(config)) {
    const std::string name =
        (model.prefixed ? std::string(tensor_prefix(config)) : "") + model.name;
    if (!tensors.empty() && tensors.back().name == name) continue;  // slices of GPT-2's c_attn
    std::int64_t count = 1;
    for (const std::int64_t extent : model.file_shape()) count *= extent;
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& v : values) v = value++;
    tensors.push_back({name, "F32", model.file_shape(), bytes_of_values(values)});
  }
  return tensors;
}

inline WrittenTensor& tensor_named(std::vector<WrittenTensor>& tensors, const std::string& name) {
  for (WrittenTensor& tensor : tensors)
    if (tensor.name == name) return tensor;
  throw std::runtime_error("no tensor " + name);
}

}  // namespace kvmeter::test

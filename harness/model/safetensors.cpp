// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/safetensors.hpp"

#include <fmt/ranges.h>

#include <array>
#include <cstring>
#include <limits>

#include "harness/core/error.hpp"
#include "harness/model/detail/safetensors_header.hpp"

namespace kvmeter {
namespace {

struct TypeRow {
  std::string_view name;
  std::int64_t bytes;
};
constexpr auto type_rows = std::to_array<TypeRow>({{"BOOL", 1},
                                                   {"U8", 1},
                                                   {"I8", 1},
                                                   {"F8_E4M3", 1},
                                                   {"F8_E5M2", 1},
                                                   {"I16", 2},
                                                   {"U16", 2},
                                                   {"F16", 2},
                                                   {"BF16", 2},
                                                   {"I32", 4},
                                                   {"U32", 4},
                                                   {"F32", 4},
                                                   {"I64", 8},
                                                   {"U64", 8},
                                                   {"F64", 8}});

template <class Int>
std::vector<std::int64_t> widen(const FileTensor& tensor) {
  std::vector<std::int64_t> values;
  for (auto rest = tensor.data; !rest.empty(); rest = rest.subspan(sizeof(Int))) {
    Int value;
    std::memcpy(&value, rest.data(), sizeof value);
    values.push_back(value);
  }
  return values;
}

}  // namespace

std::string_view name_of(TensorType type) {
  return type_rows[static_cast<std::size_t>(type)].name;
}

std::int64_t bytes_of(TensorType type) {
  return type_rows[static_cast<std::size_t>(type)].bytes;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
  SafetensorsFile file(path);
  file.m_tensors = detail::parse_safetensors(file.m_file.bytes(), file.m_path);
  return file;
}

const FileTensor* SafetensorsFile::find(std::string_view name) const {
  const auto found = m_tensors.find(name);
  return found == m_tensors.end() ? nullptr : &found->second;
}

const FileTensor& SafetensorsFile::at(std::string_view name) const {
  const FileTensor* tensor = find(name);
  KVMETER_EXPECTS(tensor != nullptr, "{}: has no tensor {}", m_path, name);
  return *tensor;
}

void refuse_type(const FileTensor& tensor, std::string_view allowed) {
  fail("{}: tensor {}: dtype {} is not supported here; allowed: {}", tensor.file, tensor.name,
       name_of(tensor.type), allowed);
}

std::vector<std::int64_t> read_ints(const FileTensor& tensor) {
  if (tensor.type == TensorType::I32) return widen<std::int32_t>(tensor);
  if (tensor.type == TensorType::I64) return widen<std::int64_t>(tensor);
  refuse_type(tensor, "I32, I64");
}

std::vector<std::int32_t> read_token_ids(const std::filesystem::path& path,
                                         std::string_view tensor_name) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  const FileTensor& tensor = file.at(tensor_name);
  KVMETER_EXPECTS(tensor.shape.size() == 1, "{}: tensor {}: shape {}: token ids must be one list",
                  tensor.file, tensor.name, shape_text(tensor.shape));
  const std::vector<std::int64_t> ids = read_ints(tensor);
  for (std::size_t i = 0; i < ids.size(); ++i)
    KVMETER_EXPECTS(ids[i] >= 0 && ids[i] <= std::numeric_limits<std::int32_t>::max(),
                    "{}: tensor {}: token {} is {}; allowed: 0 to 2147483647", tensor.file,
                    tensor.name, i, ids[i]);
  return {ids.begin(), ids.end()};
}

}  // namespace kvmeter

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// A safetensors file (8 bytes of header length, a JSON header, the tensors' bytes), mapped into
// memory and checked in full before anything is read from it. Does not know what the tensors are
// for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/detail/mapped_file.hpp"

namespace kvmeter {

/// Element types of the format. Weights may be F32, F16 or BF16 (safetensors_floats.hpp), token ids
/// I32 or I64; the others occur in buffers that nobody reads.
enum class TensorType {
  BOOL,
  U8,
  I8,
  F8_E4M3,
  F8_E5M2,
  I16,
  U16,
  F16,
  BF16,
  I32,
  U32,
  F32,
  I64,
  U64,
  F64
};

std::string_view name_of(TensorType type);
std::int64_t bytes_of(TensorType type);

/// One tensor of a file that stays mapped while its SafetensorsFile lives.
struct FileTensor {
  std::string file;  // for messages
  std::string name;
  TensorType type = TensorType::F32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data;  // [product of shape * bytes_of(type)], of any alignment

  [[nodiscard]] std::int64_t count() const {
    return static_cast<std::int64_t>(data.size()) / bytes_of(type);
  }
};

using FileTensors = std::map<std::string, FileTensor, std::less<>>;

class SafetensorsFile {
 public:
  /// Maps and checks the file: header length, JSON, types, shapes, offsets without overlap, holes
  /// or trailing bytes. Throws Error that names the file and the tensor.
  static SafetensorsFile open(const std::filesystem::path& path);

  [[nodiscard]] const FileTensors& tensors() const { return m_tensors; }
  [[nodiscard]] const FileTensor* find(std::string_view name) const;  // nullptr: has none
  [[nodiscard]] const FileTensor& at(std::string_view name) const;    // throws Error

 private:
  explicit SafetensorsFile(const std::filesystem::path& path)
      : m_path(path.string()), m_file(path) {}

  std::string m_path;
  detail::MappedFile m_file;
  FileTensors m_tensors;
};

/// Throws Error that names file, tensor, its type and those allowed, e.g. "F32, F16, BF16".
[[noreturn]] void refuse_type(const FileTensor& tensor, std::string_view allowed);

/// "[2, 37, 211]"
std::string shape_text(std::span<const std::int64_t> shape);

/// All values of an I32 or I64 tensor, row-major.
std::vector<std::int64_t> read_ints(const FileTensor& tensor);

/// Token ids of a text: a tensor [n_tokens] of I32 or I64, none negative.
std::vector<std::int32_t> read_token_ids(const std::filesystem::path& path,
                                         std::string_view tensor_name = "token_ids");

}  // namespace kvmeter

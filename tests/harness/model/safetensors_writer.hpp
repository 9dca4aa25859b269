// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Writes safetensors files, sound and unsound ones.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace kvmeter::test {

struct WrittenTensor {
  std::string name;
  std::string type;
  std::vector<std::int64_t> shape;
  std::string bytes;
};

template <class T>
std::string bytes_of_values(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline std::string length_field(std::uint64_t length) {
  std::string field(sizeof length, '\0');
  std::memcpy(field.data(), &length, sizeof length);
  return field;
}

/// A file of this header text and data.
inline std::string safetensors_bytes(const std::string& header, const std::string& data) {
  return length_field(header.size()) + header + data;
}

/// A sound file.
inline std::string safetensors_bytes(const std::vector<WrittenTensor>& tensors) {
  auto header = nlohmann::ordered_json::object();
  header["__metadata__"] = {{"format", "pt"}};
  std::string data;
  for (const WrittenTensor& tensor : tensors) {
    header[tensor.name] = {{"dtype", tensor.type},
                           {"shape", tensor.shape},
                           {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
    data += tensor.bytes;
  }
  return safetensors_bytes(header.dump(), data);
}

inline void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace kvmeter::test

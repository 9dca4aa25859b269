// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/safetensors.hpp"

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

namespace kvmeter::oracle {
namespace {

template <class T>
T read_as(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

double bf16_at(const char* bytes) {
  const std::uint32_t bits = static_cast<std::uint32_t>(read_as<std::uint16_t>(bytes)) << 16;
  return read_as<float>(reinterpret_cast<const char*>(&bits));
}

double f16_at(const char* bytes) {
  const auto bits = read_as<std::uint16_t>(bytes);
  const int exponent = (bits >> 10) & 31;
  const double fraction = bits & 1023;
  double magnitude = std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 0) magnitude = std::ldexp(fraction, -24);
  if (exponent == 31)
    magnitude = fraction == 0 ? HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
  return (bits >> 15) != 0 ? -magnitude : magnitude;
}

struct ElementType {
  std::size_t bytes;
  double (*read)(const char*);
};

ElementType element_type(const std::string& name) {
  if (name == "F32") return {4, [](const char* p) { return double{read_as<float>(p)}; }};
  if (name == "F16") return {2, f16_at};
  if (name == "BF16") return {2, bf16_at};
  if (name == "I32")
    return {4, [](const char* p) { return static_cast<double>(read_as<std::int32_t>(p)); }};
  if (name == "I64")
    return {8, [](const char* p) { return static_cast<double>(read_as<std::int64_t>(p)); }};
  throw std::invalid_argument("oracle: safetensors element " + name);
}

std::string read_bytes(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error("oracle: cannot read " + file.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

Tensors read_safetensors(const std::filesystem::path& file) {
  const std::string bytes = read_bytes(file);
  const auto header_size = read_as<std::uint64_t>(bytes.data());
  const auto header = nlohmann::json::parse(bytes.substr(8, header_size));
  const std::string data = bytes.substr(8 + header_size);
  Tensors tensors;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    const ElementType type = element_type(entry.at("dtype"));
    Tensor& tensor = tensors[name];
    entry.at("shape").get_to(tensor.shape);
    const std::size_t begin = entry.at("data_offsets").at(0);
    const std::size_t end = entry.at("data_offsets").at(1);
    if (end > data.size()) throw std::runtime_error("oracle: truncated " + file.string());
    for (std::size_t at = begin; at < end; at += type.bytes)
      tensor.data.push_back(type.read(data.data() + at));
  }
  return tensors;
}

Tensors read_checkpoint(const std::filesystem::path& folder) {
  const auto index_file = folder / "model.safetensors.index.json";
  if (!exists(index_file)) return read_safetensors(folder / "model.safetensors");
  const auto index = nlohmann::json::parse(read_bytes(index_file));
  std::set<std::string> shards;
  for (const auto& shard : index.at("weight_map")) shards.insert(shard);
  Tensors all;
  for (const auto& shard : shards) all.merge(read_safetensors(folder / shard));
  return all;
}

}  // namespace kvmeter::oracle

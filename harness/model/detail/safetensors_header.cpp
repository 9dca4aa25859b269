// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/detail/safetensors_header.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>

#include "harness/core/error.hpp"
#include "harness/model/detail/json.hpp"

namespace kvmeter::detail {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

constexpr std::uint64_t length_bytes = 8;
constexpr std::uint64_t max_header_bytes = 100'000'000;  // the limit of the format's own reader
constexpr int max_depth = 8;
constexpr std::string_view metadata_key = "__metadata__";

std::string_view header_text(std::span<const std::byte> file, const std::string& where) {
  KVMETER_EXPECTS(file.size() >= length_bytes, "{}: {} bytes are too few for a safetensors file",
                  where, file.size());
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), length_bytes);
  KVMETER_EXPECTS(length <= max_header_bytes,
                  "{}: header length {} is over {}; not a safetensors file", where, length,
                  max_header_bytes);
  KVMETER_EXPECTS(length <= file.size() - length_bytes,
                  "{}: truncated: the header needs {} bytes, the file has {} after its length",
                  where, length, file.size() - length_bytes);
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + length_bytes,
                              static_cast<std::size_t>(length));
  KVMETER_EXPECTS(text.starts_with('{'), "{}: header does not begin with '{{'", where);
  return text;
}

TensorType parse_type(const JsonObject& entry) {
  const std::string name = entry.string("dtype");
  std::vector<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(TensorType::F64); ++code) {
    const auto type = static_cast<TensorType>(code);
    if (name_of(type) == name) return type;
    names.push_back(name_of(type));
  }
  entry.refuse("dtype", fmt::format("{}", fmt::join(names, ", ")));
}

/// A list of integers from 0 to the largest that 63 bits hold.
std::optional<std::vector<std::int64_t>> parse_list(const Json& list) {
  if (!list.is_array()) return std::nullopt;
  std::vector<std::int64_t> values;
  for (const Json& value : list) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
    values.push_back(value.get<std::int64_t>());
  }
  return values;
}

/// Bytes of a tensor, or nullopt where 63 bits do not hold them.
std::optional<std::int64_t> tensor_bytes(const FileTensor& tensor) {
  std::int64_t bytes = bytes_of(tensor.type);
  if (std::ranges::find(tensor.shape, 0) != tensor.shape.end()) return 0;
  for (const std::int64_t extent : tensor.shape)
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
  return bytes;
}

FileTensor parse_tensor(const std::string& name, const Json& json, std::span<const std::byte> data,
                        const std::string& where) {
  const std::string label = fmt::format("{}: tensor {}", where, name);
  const JsonObject entry(json, label);
  for (const auto& [key, value] : json.items())
    KVMETER_EXPECTS(key == "dtype" || key == "shape" || key == "data_offsets",
                    "{}: unknown key '{}'; allowed: dtype, shape, data_offsets", label, key);
  FileTensor tensor{
      .file = where, .name = name, .type = parse_type(entry), .shape = {}, .data = {}};

  const auto shape = parse_list(entry.at("shape"));
  if (!shape) entry.refuse("shape", "a list of sizes");
  tensor.shape = *shape;
  const auto offsets = parse_list(entry.at("data_offsets"));
  if (!offsets || offsets->size() != 2) entry.refuse("data_offsets", "[begin, end]");
  const std::int64_t begin = (*offsets)[0], end = (*offsets)[1];
  KVMETER_EXPECTS(begin <= end, "{}: data_offsets [{}, {}] end before they begin", label, begin,
                  end);
  KVMETER_EXPECTS(static_cast<std::uint64_t>(end) <= data.size(),
                  "{}: data_offsets [{}, {}] reach past the {} bytes of data; truncated?", label,
                  begin, end, data.size());
  const auto bytes = tensor_bytes(tensor);
  KVMETER_EXPECTS(bytes == end - begin,
                  "{}: shape {} of {} needs {} bytes, data_offsets [{}, {}] have {}", label,
                  shape_text(tensor.shape), name_of(tensor.type),
                  bytes ? fmt::to_string(*bytes) : "over 2^63", begin, end, end - begin);
  tensor.data =
      data.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  return tensor;
}

void check_metadata(const Json& metadata, const std::string& where) {
  const bool strings = metadata.is_object() && std::ranges::all_of(metadata, &Json::is_string);
  KVMETER_EXPECTS(strings, "{}: {} must be an object of strings", where, metadata_key);
}

void check_coverage(const FileTensors& tensors, std::span<const std::byte> data,
                    const std::string& where) {
  std::vector<const FileTensor*> order;
  for (const auto& [name, tensor] : tensors)
    if (!tensor.data.empty()) order.push_back(&tensor);
  std::ranges::sort(order, {}, [](const FileTensor* tensor) { return tensor->data.data(); });

  const std::byte* next = data.data();
  const FileTensor* before = nullptr;
  for (const FileTensor* tensor : order) {
    const auto gap = tensor->data.data() - next;
    KVMETER_EXPECTS(gap >= 0, "{}: tensor {} overlaps tensor {} by {} bytes", where, tensor->name,
                    before->name, -gap);
    KVMETER_EXPECTS(gap == 0, "{}: {} bytes before tensor {} belong to no tensor", where, gap,
                    tensor->name);
    next = tensor->data.data() + tensor->data.size();
    before = tensor;
  }
  const auto rest = data.data() + data.size() - next;
  KVMETER_EXPECTS(rest == 0, "{}: the last {} bytes belong to no tensor", where, rest);
}

}  // namespace

FileTensors parse_safetensors(std::span<const std::byte> file, const std::string& where) {
  const std::string_view text = header_text(file, where);
  const Json header = parse_json(text, where + ": header", max_depth);
  const auto data = file.subspan(length_bytes + text.size());
  FileTensors tensors;
  for (const auto& [name, entry] : header.items()) {
    if (name == metadata_key)
      check_metadata(entry, where);
    else
      tensors.emplace(name, parse_tensor(name, entry, data, where));
  }
  check_coverage(tensors, data, where);
  return tensors;
}

}  // namespace kvmeter::detail

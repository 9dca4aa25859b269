// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Which values a key of a sweep may have in this build and on this machine, beyond their type.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "harness/core/error.hpp"
#include "harness/core/names.hpp"
#include "harness/exec/spaces.hpp"
#include "harness/run/commands.hpp"
#include "harness/run/models.hpp"
#include "harness/run/registry.hpp"

namespace kvmeter::run {
namespace {

using Wrong = std::optional<std::string>;
using Names = std::vector<std::string_view>;

Wrong check_name(const PointKey& key, std::string_view what, std::string_view name,
                 const Names& allowed) {
  if (std::ranges::find(allowed, name) != allowed.end()) return std::nullopt;
  return fmt::format("{}: {}", key.name, unknown_name(what, name, allowed));
}

template <class Enum>
Names enum_names() {
  return {EnumNames<Enum>::values.begin(), EnumNames<Enum>::values.end()};
}

Names variant_names(std::span<const VariantInfo> variants) {
  Names names;
  for (const VariantInfo& variant : variants) names.push_back(variant.name);
  return names;
}

Names weight_elements() {
  Names names = enum_names<Element>();
  names.insert(names.begin(), "model");
  return names;
}

Names backend_names() {
  Names names;
  for (const Backend backend : backends_in_build()) names.push_back(name_of(backend));
  return names;
}

Wrong check_backend(const PointKey& key, const std::string& name) {
  const bool known = find_enum<Backend>(name).has_value();
  return check_name(key, known ? "in this build: backend" : "backend", name, backend_names());
}

Wrong check_kv_heads(const PointKey& key, const std::string& text) {
  std::int64_t heads = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, heads);
  if (error == std::errc{} && rest == end && heads >= 1) return std::nullopt;
  if (text == "model" || text == "mha" || text == "mqa") return std::nullopt;
  return fmt::format("{} = {}: not allowed; allowed: {}", key.name, text, key.values);
}

Wrong check_model(const std::string& name) {
  try {
    find_model(name, Weights::random);
    return std::nullopt;
  } catch (const UsageError& error) {
    return error.what();
  }
}

/// Where the checkpoint that has the text can be fetched, the message says how: models/NAME/text.
Wrong check_text(const std::string& text) {
  if (text.empty() || std::filesystem::is_regular_file(find_file(text))) return std::nullopt;
  const std::string folder = std::filesystem::path(text).parent_path().filename().string();
  return fmt::format("text: no file {}; allowed: a safetensors file with token_ids{}", text,
                     fetch_hint(folder));
}

Wrong check_value(const PointKey& key, const PointValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return std::nullopt;  // the range of numbers is in the table of keys
  if (key.name == "model") return check_model(*text);
  if (key.name == "text") return check_text(*text);
  if (key.name == "kv_heads") return check_kv_heads(key, *text);
  if (key.name == "backend") return check_backend(key, *text);
  if (key.name == "weights") return check_name(key, "source", *text, enum_names<Weights>());
  if (key.name == "weight_element") return check_name(key, "element", *text, weight_elements());
  if (key.name == "sampling") return check_name(key, "method", *text, enum_names<Sampling>());
  if (key.name == "prefill") return check_name(key, "prefill", *text, enum_names<Prefill>());
  if (key.name == "fp8_scale") return check_name(key, "scale", *text, enum_names<Fp8Scale>());
  if (key.name == "cache") return check_name(key, "placement", *text, variant_names(placements()));
  if (key.name == "attention")
    return check_name(key, "algorithm", *text, variant_names(attentions()));
  if (key.name == "k_element" || key.name == "v_element")
    return check_name(key, "codec", *text, variant_names(codecs()));
  fail("value_check.cpp does not know the key {}", key.name);
}

}  // namespace

ValueCheck value_check() {
  return check_value;
}

}  // namespace kvmeter::run

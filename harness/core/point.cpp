// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/core/point.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <set>
#include <type_traits>
#include <utility>

#include "harness/core/error.hpp"
#include "harness/core/names.hpp"
#include "harness/core/quote.hpp"

namespace kvmeter {
namespace {

constexpr double kMostTokens = 1 << 30;

constexpr std::string_view kModel = "Model";
constexpr std::string_view kCache = "Cache and attention";
constexpr std::string_view kMachine = "Machine";
constexpr std::string_view kWork = "Work";
constexpr std::string_view kNext = "Choice of the next token";

constexpr auto kKeys = std::to_array<PointKey>({
    {"model", kModel, &Point::model, "a name from `kvmeter list models`, or a checkpoint folder",
     "the model whose shape, and with weights=checkpoint whose weights, are run"},
    {"weights", kModel, &Point::weights, "random | checkpoint", "where the weights come from"},
    {"weight_element", kModel, &Point::weight_element, "model | f32 | f16 | bf16",
     "how weights are held (model: as the checkpoint has them)"},
    {"kv_heads", kModel, &Point::kv_heads, "model | mha | mqa | a number",
     "KV heads; other than the model's needs random weights"},
    {"n_layers", kModel, &Point::n_layers, "0 (the model's) or a number", "transformer blocks", 0,
     4096},
    {"tie_layers", kModel, &Point::tie_layers, "true | false",
     "all layers use one layer's weights, so that a shape fits that would not; needs random "
     "weights"},
    {"cache", kCache, &Point::cache, "a name from `kvmeter list placements`",
     "where K and V rows live"},
    {"k_element", kCache, &Point::k_element, "a name from `kvmeter list codecs`",
     "how K is stored"},
    {"v_element", kCache, &Point::v_element, "a name from `kvmeter list codecs`",
     "how V is stored"},
    {"fp8_scale", kCache, &Point::fp8_scale, "none | layer",
     "fp8 elements as they are, or divided by a scale per layer that is measured on the prompts"},
    {"block_tokens", kCache, &Point::block_tokens, "a number from 1",
     "tokens of a block, of paged caches and of rings with sinks", 1, 1 << 20},
    {"window_tokens", kCache, &Point::window_tokens, "0 (the model's) or a number",
     "keys that a query sees in each layer, its own included", 0, kMostTokens},
    {"sink_tokens", kCache, &Point::sink_tokens, "a number",
     "first tokens of a sequence that a window always sees besides", 0, kMostTokens},
    {"offload_layers", kCache, &Point::offload_layers, "a number",
     "last layers whose cache lives in host memory and is brought in layer by layer", 0, 4096},
    {"shared_prefix_tokens", kCache, &Point::shared_prefix_tokens, "a number",
     "beginning that all prompts of the batch have in common; it is computed once", 0, kMostTokens},
    {"attention", kCache, &Point::attention, "a name from `kvmeter list attention`",
     "the algorithm that reads the cache"},
    {"backend", kMachine, &Point::backend, "serial | openmp | cuda", "the Kokkos execution space"},
    {"threads", kMachine, &Point::threads, "0 (all) or a number", "threads of the openmp back end",
     0, 4096},
    {"batch", kWork, &Point::batch, "a number from 1", "sequences run together", 1, 1 << 20},
    {"prompt_tokens", kWork, &Point::prompt_tokens, "a number from 1",
     "prompt length of each sequence", 1, kMostTokens},
    {"new_tokens", kWork, &Point::new_tokens, "a number",
     "tokens generated for each sequence; 0: prefill alone", 0, kMostTokens},
    {"prefill", kWork, &Point::prefill, "compute | synthetic",
     "how the cache is filled: from the prompts, or with made-up rows, which takes no time"},
    {"prefill_chunk", kWork, &Point::prefill_chunk, "0 (all) or a number",
     "prompt tokens of a sequence that one step takes in", 0, kMostTokens},
    {"text", kWork, &Point::text, "a safetensors file with token_ids",
     "what the prompts are cut from"},
    {"sampling", kNext, &Point::sampling, "greedy | temperature", "how the next token is chosen"},
    {"temperature", kNext, &Point::temperature, "a number above 0", "divides the logits", 1e-6,
     1e6},
    {"top_k", kNext, &Point::top_k, "0 (off) or a number", "sample from the k most likely", 0,
     1 << 30},
    {"top_p", kNext, &Point::top_p, "above 0, up to 1 (off)",
     "sample from the most likely that hold this mass", 1e-9, 1},
    {"ignore_eos", kNext, &Point::ignore_eos, "true | false",
     "go on after the end-of-sequence token"},
    {"repeat", kWork, &Point::repeat, "a number", "a label; as an axis it repeats points", 0,
     1 << 30},
});

template <class Field>
constexpr std::string_view kKind = "a string";
template <>
constexpr std::string_view kKind<std::int64_t> = "a whole number";
template <>
constexpr std::string_view kKind<double> = "a number";
template <>
constexpr std::string_view kKind<bool> = "true or false";

[[noreturn]] void bad_value(const PointKey& key, std::string_view text) {
  throw UsageError(fmt::format("{} = {}: not allowed; allowed: {}", key.name,
                               quote_if_needed(text, ','), key.values));
}

template <class Field>
[[noreturn]] void bad_type(const PointKey& key, const PointValue& value) {
  const bool text = std::holds_alternative<std::string>(value);
  throw UsageError(fmt::format("{} = {}: expected {}; allowed: {}", key.name,
                               text ? fmt::format("\"{}\"", to_text(value)) : to_text(value),
                               kKind<Field>, key.values));
}

template <class Number>
void check_range(const PointKey& key, Number value) {
  const auto number = static_cast<double>(value);
  if (number >= key.least && number <= key.most) return;
  throw UsageError(fmt::format("{} = {}: out of range; allowed: {} ({} to {})", key.name, value,
                               key.values, key.least, key.most));
}

template <class Number>
Number parse_number(const PointKey& key, std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) bad_value(key, text);
  return value;
}

/// The value as the field holds it: a whole number is fine for a real key, and for a key of names
/// that has numbers too (kv_heads = 8). Throws on any other type.
template <class Field>
Field typed_value(const PointKey& key, const PointValue& value) {
  if (const auto* same = std::get_if<Field>(&value)) return *same;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    if constexpr (std::is_same_v<Field, double>) return static_cast<double>(*whole);
    if constexpr (std::is_same_v<Field, std::string>) return fmt::format("{}", *whole);
  }
  bad_type<Field>(key, value);
}

}  // namespace

std::span<const PointKey> point_keys() {
  return kKeys;
}

std::vector<std::string_view> point_key_names() {
  std::vector<std::string_view> names;
  for (const PointKey& key : kKeys) names.push_back(key.name);
  return names;
}

const PointKey* find_point_key(std::string_view name) {
  for (const PointKey& key : kKeys)
    if (key.name == name) return &key;
  return nullptr;
}

PointValue get(const Point& point, const PointKey& key) {
  return std::visit([&](auto field) { return PointValue(point.*field); }, key.field);
}

void set(Point& point, const PointKey& key, const PointValue& value) {
  std::visit(
      [&](auto field) {
        using Field = std::remove_reference_t<decltype(point.*field)>;
        Field typed = typed_value<Field>(key, value);
        if constexpr (std::is_same_v<Field, std::int64_t> || std::is_same_v<Field, double>)
          check_range(key, typed);
        point.*field = std::move(typed);
      },
      key.field);
}

void set_from_text(Point& point, const PointKey& key, std::string_view text) {
  std::visit(
      [&](auto field) {
        using Field = std::remove_reference_t<decltype(point.*field)>;
        if constexpr (std::is_same_v<Field, std::string>) {
          set(point, key, std::string(text));
        } else if constexpr (std::is_same_v<Field, bool>) {
          if (text != "true" && text != "false") bad_value(key, text);
          set(point, key, text == "true");
        } else {
          set(point, key, parse_number<Field>(key, text));
        }
      },
      key.field);
}

std::string to_text(const PointValue& value) {
  return std::visit([](const auto& v) { return fmt::format("{}", v); }, value);
}

std::string canonical(const Point& point) {
  const Point defaults;
  std::string text;
  for (const PointKey& key : kKeys) {
    const PointValue value = get(point, key);
    if (value == get(defaults, key)) continue;
    if (!text.empty()) text += ' ';
    text += fmt::format("{}={}", key.name, quote_if_needed(to_text(value), ' '));
  }
  return text;
}

Point parse_point(std::string_view canonical_text) {
  Point point;
  std::set<std::string_view> seen;
  for (const std::string& word : split_quoted(canonical_text, ' ')) {
    if (word.empty()) continue;
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos)
      throw UsageError(fmt::format("'{}' in a point: expected key=value", word));
    const std::string name = word.substr(0, equals);
    const PointKey* key = find_point_key(name);
    if (key == nullptr) throw UsageError(unknown_name("key", name, point_key_names()));
    if (!seen.insert(key->name).second)
      throw UsageError(fmt::format("'{}' in a point: {} is given twice", word, key->name));
    set_from_text(point, *key, std::string_view(word).substr(equals + 1));
  }
  return point;
}

}  // namespace kvmeter

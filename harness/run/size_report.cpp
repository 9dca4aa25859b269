// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/size_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/core/text_table.hpp"
#include "harness/core/units.hpp"

namespace kvmeter::run {
namespace {

using Json = nlohmann::ordered_json;

/// "2", "0.5": bytes of an element.
std::string element_bytes(std::int64_t bits) {
  return fmt::format("{}", static_cast<double>(bits) / 8);
}

/// The textbook where all layers keep all tokens; else over the tokens that are kept.
std::string formula_text(const SizeReport& r) {
  const CacheSpec& s = r.spec;
  const bool same = r.k_bits == r.v_bits;
  const bool whole = r.total.tokens == s.n_layers * s.batch * s.max_tokens;
  const std::string tokens =
      whole ? fmt::format("{} tokens x batch {}", format_count(s.max_tokens), s.batch)
            : fmt::format("{} tokens kept over layers and sequences", format_count(r.total.tokens));
  return fmt::format(
      "{}{}{} KV heads x head_dim {} x {} x {} = {} bytes\n", same ? "2 x " : "",
      whole ? fmt::format("{} layers x ", s.n_layers) : "", s.n_kv_heads, s.head_dim, tokens,
      same ? fmt::format("{} bytes", element_bytes(r.k_bits))
           : fmt::format("({} + {}) bytes", element_bytes(r.k_bits), element_bytes(r.v_bits)),
      format_count(r.total.formula_bytes));
}

struct Part {
  std::string_view name;
  std::int64_t bytes;
  std::string_view what;
  bool rare = false;
};

std::vector<Part> parts_of(const SizeReport& r) {
  const CacheFootprint& f = r.total;
  return {
      {"formula", f.formula_bytes, "elements of the tokens that are kept"},
      {"+ scales", f.scale_bytes, "of quantised elements"},
      {"- shared", -f.shared_bytes, "rows that several sequences have in common", true},
      {"= live", f.live_bytes(), "rows that hold tokens"},
      {"+ block rounding", f.block_rounding_bytes, "rest of blocks or pages in use"},
      {"+ reserve", f.reserve_bytes, "rows set aside for later tokens"},
      {"= allocated", f.allocated_bytes(), "memory behind rows"},
      {"+ staging", f.staging_bytes, "buffers that offloaded layers are brought in through", true},
      {"+ tables", f.table_bytes, "block tables and lists of copies"},
      {"+ allocator", f.allocator_bytes, "what allocations are rounded up by", true},
      {"= total", f.ledger_bytes(), "all that is allocated for the cache"},
      {"peak", r.peak_bytes == f.ledger_bytes() ? 0 : r.peak_bytes,
       "old and new memory at once, while a layer grows", true},
      {"reserved", f.reserved_bytes, "address space or slots"},
      {"offloaded", f.offloaded_bytes, "part of allocated in the second memory space", true},
      {"per token", r.bytes_per_token, "of one sequence, scales included"},
  };
}

/// Parts that most caches do not have are left out where there is nothing of them.
std::string parts_text(const SizeReport& report) {
  TextTable table({"part", "size", "bytes", "what it is"});
  for (const auto& [name, bytes, what, rare] : parts_of(report))
    if (bytes != 0 || !rare)
      table.add_row(
          {std::string(name), format_bytes(bytes), format_count(bytes), std::string(what)});
  return table.text();
}

std::string layers_text(const SizeReport& report) {
  TextTable table({"layer", "window", "tokens kept", "formula", "live", "allocated", "bytes"});
  for (std::size_t i = 0; i < report.layers.size(); ++i) {
    const CacheFootprint& layer = report.layers[i];
    const std::int64_t window = report.spec.window(static_cast<std::int64_t>(i));
    table.add_row({fmt::format("{}", i), window == 0 ? "-" : format_count(window),
                   format_count(layer.tokens), format_bytes(layer.formula_bytes),
                   format_bytes(layer.live_bytes()), format_bytes(layer.allocated_bytes()),
                   format_count(layer.allocated_bytes())});
  }
  return table.text();
}

void add_bytes(Json& json, const CacheFootprint& f) {
  json.update({{"formula_bytes", f.formula_bytes},
               {"live_bytes", f.live_bytes()},
               {"allocated_bytes", f.allocated_bytes()},
               {"reserved_bytes", f.reserved_bytes},
               {"scale_bytes", f.scale_bytes},
               {"shared_bytes", f.shared_bytes},
               {"block_rounding_bytes", f.block_rounding_bytes},
               {"reserve_bytes", f.reserve_bytes},
               {"offloaded_bytes", f.offloaded_bytes},
               {"cache_tokens", f.tokens}});
}

Json layers_json(const SizeReport& report) {
  Json layers = Json::array();
  for (std::size_t i = 0; i < report.layers.size(); ++i) {
    Json layer{{"layer", i}, {"window_tokens", report.spec.window(static_cast<std::int64_t>(i))}};
    add_bytes(layer, report.layers[i]);
    layers.push_back(layer);
  }
  return layers;
}

}  // namespace

std::string text_of(const SizeReport& report) {
  const std::string text = fmt::format("{}\n{}", formula_text(report), parts_text(report));
  return report.layers_differ() ? fmt::format("{}\n{}", text, layers_text(report)) : text;
}

std::string json_of(const SizeReport& report) {
  const CacheSpec& spec = report.spec;
  const CacheFootprint& total = report.total;
  Json json{{"model", report.point.model.empty() ? Json() : Json(report.point.model)},
            {"n_layers", spec.n_layers},
            {"n_kv_heads", spec.n_kv_heads},
            {"head_dim", spec.head_dim},
            {"tokens", spec.max_tokens},
            {"batch", spec.batch},
            {"cache", report.point.cache},
            {"k_element", report.point.k_element},
            {"v_element", report.point.v_element}};
  add_bytes(json, total);
  json.update({{"metadata_bytes", total.metadata_bytes()},
               {"staging_bytes", total.staging_bytes},
               {"table_bytes", total.table_bytes},
               {"allocator_bytes", total.allocator_bytes},
               {"ledger_bytes", total.ledger_bytes()},
               {"peak_bytes", report.peak_bytes},
               {"bytes_per_token", report.bytes_per_token}});
  if (report.layers_differ()) json["layers"] = layers_json(report);
  return json.dump(2);
}

}  // namespace kvmeter::run

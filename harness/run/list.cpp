// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// kvmeter list: what there is to choose from, in aligned tables.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/core/error.hpp"
#include "harness/core/names.hpp"
#include "harness/core/text_table.hpp"
#include "harness/core/units.hpp"
#include "harness/exec/spaces.hpp"
#include "harness/model/config.hpp"
#include "harness/run/commands.hpp"
#include "harness/run/models.hpp"
#include "harness/run/registry.hpp"

namespace kvmeter::run {
namespace {

std::int64_t kv_bytes_per_token_f16(const ModelConfig& config) {
  return 2 * config.n_layers * config.kv_dim() * 2;
}

std::vector<std::string> model_row(const std::string& name, bool has_checkpoint, bool has_config) {
  const Weights weights = has_config ? Weights::random : Weights::checkpoint;
  const ModelConfig config = read_model_config(find_model(name, weights).config);
  return {name,
          config.family,
          fmt::format("{}", config.n_layers),
          fmt::format("{}", config.hidden_dim),
          fmt::format("{}", config.n_heads),
          fmt::format("{}", config.n_kv_heads),
          fmt::format("{}", config.head_dim),
          format_count(config.vocab_size),
          format_count(parameter_count(config)),
          format_count(kv_bytes_per_token_f16(config)),
          has_checkpoint ? "random, checkpoint" : "random"};
}

std::string models_text() {
  const auto configs = model_names();
  const auto checkpoints = checkpoint_names();
  std::set<std::string> names(configs.begin(), configs.end());
  names.insert(checkpoints.begin(), checkpoints.end());
  const auto has = [](const std::vector<std::string>& list, const std::string& name) {
    return std::ranges::find(list, name) != list.end();
  };
  TextTable table({"model", "family", "layers", "hidden", "heads", "kv heads", "head_dim", "vocab",
                   "parameters", "KV bytes/token, f16", "weights"});
  for (const std::string& name : names)
    table.add_row(model_row(name, has(checkpoints, name), has(configs, name)));
  return table.text();
}

std::string variants_text(const std::string& head, std::span<const VariantInfo> variants) {
  TextTable table({head, "what it is"});
  for (const VariantInfo& variant : variants)
    table.add_row({std::string(variant.name), std::string(variant.help)});
  return table.text();
}

std::string_view backend_help(Backend backend) {
  switch (backend) {
    case Backend::serial:
      return "one thread of the host";
    case Backend::openmp:
      return "all threads of the host, or as many as `threads` says";
    case Backend::cuda:
      return "an NVIDIA GPU";
  }
  return "";
}

std::string backends_text() {
  TextTable table({"backend", "what it is"});
  for (const Backend backend : backends_in_build())
    table.add_row({std::string(name_of(backend)), std::string(backend_help(backend))});
  return table.text();
}

struct Section {
  std::string_view name;
  std::string (*text)();
};

constexpr auto kSections = std::to_array<Section>({
    {"models", models_text},
    {"placements", [] { return variants_text("cache", placements()); }},
    {"codecs", [] { return variants_text("k_element, v_element", codecs()); }},
    {"attention", [] { return variants_text("attention", attentions()); }},
    {"backends", backends_text},
});

}  // namespace

int list(const std::string& what) {
  std::vector<std::string_view> names;
  for (const Section& section : kSections) names.push_back(section.name);
  if (!what.empty() && std::ranges::find(names, what) == names.end())
    throw UsageError("list: " + unknown_name("list", what, names));
  std::string text;
  for (const Section& section : kSections) {
    if (!what.empty() && section.name != what) continue;
    if (!text.empty()) text += '\n';
    text += section.text();
  }
  fmt::print("{}", text);
  return 0;
}

}  // namespace kvmeter::run

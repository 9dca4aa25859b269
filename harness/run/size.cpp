// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "harness/core/error.hpp"
#include "harness/run/cache_setup.hpp"
#include "harness/run/laws/element_bits.hpp"
#include "harness/run/models.hpp"
#include "harness/run/registry.hpp"
#include "harness/run/size_report.hpp"
#include "variants/footprint.hpp"

namespace kvmeter::run {
namespace {

/// The model's config, or one that has a shape and nothing else.
ModelConfig config_of(const SizeOptions& options) {
  ModelConfig config;
  if (options.point.model.empty()) {
    config.n_layers = options.point.n_layers;
    config.n_heads = config.n_kv_heads = options.n_kv_heads;
    config.head_dim = options.head_dim;
    return config;
  }
  config = read_model_config(find_model(options.point.model, Weights::random).config);
  reshape(config, options.point.kv_heads, options.point.n_layers);
  return config;
}

/// Bytes are counted in 64 bits. A row has at most 8 bytes for K and V of an element; the factor 4
/// is for what is allocated beyond them.
void check_range(const SizeOptions& options, const CacheSpec& spec) {
  double bytes = 4 * 8;
  for (const std::int64_t factor :
       {spec.n_layers, spec.n_kv_heads, spec.head_dim, options.tokens, spec.batch})
    bytes *= static_cast<double>(factor);
  if (bytes >= 9.2e18) throw UsageError("size: more bytes than 64 bits can count");
}

std::int64_t element_bits(const std::string& element) {
  const auto bits = laws::find_element_bits(element);
  KVMETER_EXPECTS(bits.has_value(), "{}: its size is not known", element);
  return *bits;
}

/// Computed once for layers that have all in common.
std::vector<CacheFootprint> layer_footprints(const CacheRecipe& recipe, const CacheSpec& spec,
                                             const HeldTokens& held) {
  std::map<std::pair<std::int64_t, bool>, CacheFootprint> known;  // by window, and offloaded or not
  std::vector<CacheFootprint> layers;
  for (std::int64_t layer = 0; layer < spec.n_layers; ++layer) {
    const bool offloaded = layer >= spec.n_layers - spec.offload_layers;
    const auto [found, is_new] = known.try_emplace({spec.window(layer), offloaded});
    if (is_new) found->second = predict_layer_footprint(recipe, spec, layer, held);
    layers.push_back(found->second);
  }
  return layers;
}

}  // namespace

bool SizeReport::layers_differ() const {
  return std::ranges::any_of(layers, [&](const CacheFootprint& layer) {
    return layer.tokens != layers.front().tokens ||
           layer.allocated_bytes() != layers.front().allocated_bytes();
  });
}

SizeReport size_report(const SizeOptions& options) {
  const ModelConfig config = config_of(options);
  SizeReport report;
  report.point = options.point;
  report.point.prompt_tokens = options.tokens;  // as of a run whose prompts are all of the tokens
  report.spec = cache_spec(report.point, config, options.tokens);
  const CacheSpec& spec = report.spec;
  check_range(options, spec);
  check_cache(report.point, spec);
  const CacheRecipe recipe = recipe_of(options.point);
  report.k_bits = element_bits(options.point.k_element);
  report.v_bits = element_bits(options.point.v_element);
  const HeldTokens held{.each = options.tokens, .shared = options.point.shared_prefix_tokens};
  report.total = predict_footprint(recipe, spec, held);
  report.peak_bytes = predict_peak_bytes(recipe, spec, held);
  report.layers = layer_footprints(recipe, spec, held);
  if (keeps_past(recipe.placement))
    report.bytes_per_token =
        spec.n_layers * spec.n_kv_heads *
        (row_bytes(recipe.k_codec, spec.head_dim) + row_bytes(recipe.v_codec, spec.head_dim));
  return report;
}

int size(const SizeOptions& options) {
  const SizeReport report = size_report(options);
  options.json ? fmt::print("{}\n", json_of(report)) : fmt::print("{}", text_of(report));
  return 0;
}

}  // namespace kvmeter::run

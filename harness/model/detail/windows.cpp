// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/detail/windows.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kvmeter::detail {
namespace {

constexpr std::int64_t window_default = 4096;  // transformers, where sliding_window is absent
constexpr std::int64_t full_layers_default = 28;
constexpr std::int64_t most_window = 1'000'000'000;

/// In tokens, the query's own included; 0 where sliding_window is null.
std::int64_t read_window(const JsonObject& file) {
  if (!file.json().contains("sliding_window")) return window_default;
  return file.has("sliding_window") ? file.integer("sliding_window", 1, most_window) : 0;
}

void read_layer_types(const JsonObject& file, std::int64_t window, ModelConfig& config) {
  const Json& types = file.at("layer_types");
  if (!types.is_array() || types.size() != config.windows.size())
    file.refuse("layer_types",
                fmt::format("a list of {}, one for each layer", config.windows.size()));
  for (std::size_t layer = 0; layer < types.size(); ++layer) {
    if (types[layer] == "sliding_attention" && window > 0)
      config.windows[layer] = window;
    else if (types[layer] != "full_attention")
      file.refuse("layer_types", window > 0 ? "full_attention, sliding_attention"
                                            : "full_attention (no sliding window is switched on)");
  }
}

}  // namespace

void read_windows(const JsonObject& file, const Family& family, ModelConfig& config) {
  config.windows.assign(static_cast<std::size_t>(config.n_layers), 0);
  if (family.windows == WindowRule::none) return;
  if (family.windows == WindowRule::all_layers) {
    std::ranges::fill(config.windows, read_window(file));
    return;
  }
  const std::int64_t window = file.boolean("use_sliding_window", false) ? read_window(file) : 0;
  if (file.has("layer_types")) return read_layer_types(file, window, config);
  const std::int64_t full_layers = file.has("max_window_layers")
                                       ? file.integer("max_window_layers", 0, most_window)
                                       : full_layers_default;
  for (std::int64_t layer = full_layers; layer < config.n_layers; ++layer)
    config.windows[static_cast<std::size_t>(layer)] = window;
}

}  // namespace kvmeter::detail

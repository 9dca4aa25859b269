// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/detail/rope.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/core/error.hpp"

namespace kvmeter::detail {
namespace {

constexpr double least_theta = 1, most_theta = 1e12;
constexpr double least_factor = 1e-3, most_factor = 1e6;
constexpr std::int64_t most_positions = 1'000'000'000;

constexpr auto known_keys = std::to_array<std::string_view>(
    {"rope_theta", "rope_type", "type", "factor", "low_freq_factor", "high_freq_factor",
     "original_max_position_embeddings", "partial_rotary_factor"});

void check_keys(const JsonObject& rope) {
  for (const auto& [key, value] : rope.json().items())
    if (!value.is_null() && std::ranges::find(known_keys, key) == known_keys.end())
      rope.refuse(key, "only the keys of types default and llama3");
  if (rope.has("partial_rotary_factor") && rope.number("partial_rotary_factor", 0, 1) != 1)
    rope.refuse("partial_rotary_factor", "1");
}

Llama3RopeScaling read_llama3(const JsonObject& rope) {
  const Llama3RopeScaling scaling{
      .factor = rope.number("factor", 1, most_factor),
      .low_freq_factor = rope.number("low_freq_factor", least_factor, most_factor),
      .high_freq_factor = rope.number("high_freq_factor", least_factor, most_factor),
      .original_positions = rope.integer("original_max_position_embeddings", 1, most_positions)};
  if (scaling.high_freq_factor <= scaling.low_freq_factor)
    rope.refuse("high_freq_factor",
                fmt::format("more than low_freq_factor = {}", scaling.low_freq_factor));
  return scaling;
}

void read_type(const JsonObject& rope, ModelConfig& config) {
  check_keys(rope);
  const bool older = !rope.has("rope_type") && rope.has("type");
  const std::string_view key = older ? "type" : "rope_type";
  const std::string type = rope.string(key);
  if (type == "llama3")
    config.rope_scaling = read_llama3(rope);
  else if (type != "default")
    rope.refuse(key, "default, llama3");
}

}  // namespace

void read_rope(const JsonObject& file, ModelConfig& config) {
  constexpr std::string_view theta = "rope_theta";
  if (file.has(theta)) config.rope_theta = file.number(theta, least_theta, most_theta);
  if (file.has("rope_scaling")) read_type(file.object("rope_scaling"), config);
  if (!file.has("rope_parameters")) return;

  if (file.has("rope_scaling")) file.refuse("rope_scaling", "null beside rope_parameters");
  const JsonObject rope = file.object("rope_parameters");
  read_type(rope, config);
  if (!rope.has(theta)) return;
  const double value = rope.number(theta, least_theta, most_theta);
  if (file.has(theta) && value != config.rope_theta)
    rope.refuse(theta, fmt::format("the rope_theta = {} beside it", config.rope_theta));
  config.rope_theta = value;
}

}  // namespace kvmeter::detail

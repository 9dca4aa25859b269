// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "harness/cli/commands.hpp"
#include "harness/cli/option_text.hpp"
#include "harness/cli/point_flags.hpp"
#include "harness/core/error.hpp"
#include "harness/run/commands.hpp"

namespace kvmeter::cli {
namespace {

constexpr std::int64_t kMostTokens = std::int64_t{1} << 30;
constexpr std::int64_t kMostHeads = std::int64_t{1} << 16;

struct Options {
  PointFlags point;
  std::string tokens, n_kv_heads, head_dim;
  bool json = false;
};

std::int64_t number_from_1(std::string_view flag, const std::string& text, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1 || value > most)
    throw UsageError(
        fmt::format("{} {}: not allowed; allowed: a number from 1 to {}", flag, text, most));
  return value;
}

bool has(const Overrides& given, std::string_view key) {
  return std::ranges::any_of(given, [&](const auto& flag) { return flag.first == key; });
}

/// Either a model or a whole shape.
void check_shape(const Options& options, const Overrides& given) {
  if (has(given, "model")) {
    for (const auto& [flag, text] : {std::pair{"--n-kv-heads", &options.n_kv_heads},
                                     std::pair{"--head-dim", &options.head_dim}})
      if (!text->empty())
        throw UsageError(
            fmt::format("{}: not with --model; allowed: --kv-heads, --n-layers", flag));
    return;
  }
  if (!has(given, "n_layers") || options.n_kv_heads.empty() || options.head_dim.empty())
    throw UsageError(
        "size: no whole shape; expected --model NAME, or --n-layers L --n-kv-heads H --head-dim D");
  if (has(given, "kv_heads")) throw UsageError("--kv-heads: needs --model; allowed: --n-kv-heads");
}

/// The one point of the flags. Flags without a model stand for one all the same: any will do.
Point point_of(Overrides given) {
  const bool has_model = has(given, "model");
  if (!has_model) given.emplace_back("model", "tiny");
  const Sweep sweep = sweep_from_flags(given, run::value_check());
  if (sweep.points.size() != 1) throw UsageError("size: expected one value per flag, not a list");
  Point point = sweep.points.front().point;
  if (!has_model) point.model.clear();
  return point;
}

Command make(const CLI::App& command, const Options& options) {
  const Overrides given = options.point.given(command);
  check_shape(options, given);
  if (options.tokens.empty()) throw UsageError("--tokens: not given; expected a number from 1");
  run::SizeOptions size;
  size.point = point_of(given);
  size.tokens = number_from_1("--tokens", options.tokens, kMostTokens);
  size.json = options.json;
  if (size.point.model.empty()) {
    if (size.point.n_layers < 1) throw UsageError("--n-layers 0: expected a number from 1");
    size.n_kv_heads = number_from_1("--n-kv-heads", options.n_kv_heads, kMostHeads);
    size.head_dim = number_from_1("--head-dim", options.head_dim, kMostHeads);
  }
  return {[size] { return run::size(size); }};
}

void add_options(CLI::App& command, Options& options) {
  command.add_option("--tokens", options.tokens, "tokens of each sequence")->type_name("N");
  command
      .add_option("--n-kv-heads", options.n_kv_heads,
                  wrapped("KV heads per layer; with --n-layers and --head-dim in place of --model"))
      ->type_name("H");
  command.add_option("--head-dim", options.head_dim, "channels of a head, likewise")
      ->type_name("D");
  command.add_flag("--json", options.json, "print JSON instead of tables");
  options.point.add(command, Point{}, "V",
                    {"model", "kv_heads", "n_layers", "cache", "k_element", "v_element",
                     "block_tokens", "window_tokens", "sink_tokens", "offload_layers",
                     "shared_prefix_tokens", "batch", "prefill_chunk"});
  command.footer(
      "Examples:\n"
      "  kvmeter size --model llama-3-70b --tokens 32768\n"
      "  kvmeter size --n-layers 32 --n-kv-heads 8 --head-dim 128 --tokens 4096 --cache-element "
      "int8");
}

}  // namespace

Subcommand add_size(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("size", "Compute what a cache takes, byte by byte; allocate nothing");
  add_options(*command, *options);
  return {command, [options, command] { return make(*command, *options); }};
}

}  // namespace kvmeter::cli

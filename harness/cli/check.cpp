// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "harness/cli/commands.hpp"
#include "harness/cli/option_text.hpp"
#include "harness/cli/point_flags.hpp"
#include "harness/core/error.hpp"
#include "harness/run/commands.hpp"

namespace kvmeter::cli {
namespace {

struct Options {
  PointFlags point;
  run::CheckOptions check;
  std::string expected;
};

Point check_defaults() {
  Point point;
  point.weights = "checkpoint";
  point.k_element = "f32";
  point.v_element = "f32";
  return point;
}

/// The flags given and, for keys that they leave alone, the defaults of this command.
Overrides with_defaults(Overrides given) {
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(given, [&](const auto& flag) { return flag.first == name; });
  };
  Overrides defaults{{"weights", "checkpoint"}};
  for (const char* element : {"k_element", "v_element"})
    if (!has(element) && !has("cache_element")) defaults.emplace_back(element, "f32");
  defaults.insert(defaults.end(), given.begin(), given.end());
  return defaults;
}

Command make(const CLI::App& command, Options& options) {
  if (options.expected.empty())
    throw UsageError("--expected: not given; expected a safetensors file of input_ids and logits");
  if (options.check.tolerance &&
      !(*options.check.tolerance >= 0 && std::isfinite(*options.check.tolerance)))
    throw UsageError(fmt::format("--tolerance {}: not allowed; allowed: a number from 0",
                                 *options.check.tolerance));
  const Sweep sweep =
      sweep_from_flags(with_defaults(options.point.given(command)), run::value_check());
  if (sweep.points.size() != 1) throw UsageError("check: expected one value per flag, not a list");
  options.check.point = sweep.points.front().point;
  options.check.expected = options.expected;
  return {[check = options.check] { return run::check(check); }, true};
}

}  // namespace

Subcommand add_check(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "check", "Compare with tensors of another implementation (exit 3: they differ)");
  command
      ->add_option("--expected", options->expected,
                   wrapped("input_ids, and any of logits, generated, step_logits, nll, as "
                           "scripts/make_expected.py writes them"))
      ->type_name("F.safetensors");
  command
      ->add_option("--tolerance", options->check.tolerance,
                   wrapped("of logits, relative to the largest [from the cache elements]"))
      ->type_name("X");
  command->add_flag("--json", options->check.json, "print JSON instead of a table");
  options->point.add(*command, check_defaults(), "V",
                     {"model", "weight_element", "cache", "k_element", "v_element", "block_tokens",
                      "window_tokens", "sink_tokens", "offload_layers", "attention", "backend",
                      "threads", "prefill_chunk"});
  command->footer(
      "Example:\n"
      "  kvmeter check --model models/mine --expected mine.safetensors --cache none");
  return {command, [options, command] { return make(*command, *options); }};
}

}  // namespace kvmeter::cli

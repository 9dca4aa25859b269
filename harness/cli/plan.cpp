// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "harness/cli/commands.hpp"
#include "harness/cli/sweep_arguments.hpp"
#include "harness/run/commands.hpp"

namespace kvmeter::cli {

Subcommand add_plan(CLI::App& app) {
  struct Options {
    SweepArguments sweep;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("plan", "Show points, skips, predicted bytes and seconds; run nothing");
  options->sweep.add(*command);
  command->add_flag("--json", options->json, "print JSON instead of a table");
  command->footer(
      "Examples:\n"
      "  kvmeter plan workloads/sweeps/quickstart.toml\n"
      "  kvmeter plan --model tiny --cache none,contiguous --batch 1,2,4");
  return {command, [options, command] {
            const Sweep sweep = options->sweep.read(*command);
            return Command{[sweep, json = options->json] { return run::plan(sweep, json); }, true};
          }};
}

}  // namespace kvmeter::cli

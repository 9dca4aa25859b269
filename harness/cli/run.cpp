// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "harness/cli/commands.hpp"
#include "harness/cli/option_text.hpp"
#include "harness/cli/sweep_arguments.hpp"
#include "harness/core/error.hpp"
#include "harness/run/commands.hpp"

namespace kvmeter::cli {
namespace {

struct Options {
  SweepArguments sweep;
  run::RunOptions run;
  std::string output;
  bool dry_run = false;
  bool json = false;
};

void add_options(CLI::App& command, Options& options) {
  options.sweep.add(command);
  command
      .add_option("-o,--output", options.output,
                  wrapped("the result file; points finished before, in OUT.h5.journal/, are "
                          "reused"))
      ->type_name("OUT.h5");
  command.add_flag("--fresh", options.run.fresh, "measure every point again, reuse none");
  command.add_flag("--fail-fast", options.run.fail_fast, "stop at the first point that fails");
  command.add_flag("--dry-run", options.dry_run, "show the plan and stop, as `kvmeter plan` does");
  command.add_flag("--json", options.json, "with --dry-run: print JSON instead of a table");
  command.footer(
      "Examples:\n"
      "  kvmeter run workloads/sweeps/quickstart.toml -o quickstart.h5\n"
      "  kvmeter run --model tiny --cache none,contiguous --batch 1,2,4 -o out.h5");
}

Command make(const CLI::App& command, Options& options) {
  const Sweep sweep = options.sweep.read(command);
  if (options.dry_run)
    return {[sweep, json = options.json] { return run::plan(sweep, json); }, true};
  if (options.json) throw UsageError("--json: goes with --dry-run; a run writes OUT.h5");
  if (options.output.empty()) throw UsageError("--output: not given; expected -o OUT.h5");
  options.run.output = options.output;
  return {[sweep, run_options = options.run] { return run::run(sweep, run_options); }, true};
}

}  // namespace

Subcommand add_run(CLI::App& app, const std::string& command_line) {
  const auto options = std::make_shared<Options>();
  options->run.command_line = command_line;
  CLI::App* command = app.add_subcommand("run", "Measure the points of a sweep into a result file");
  add_options(*command, *options);
  return {command, [options, command] { return make(*command, *options); }};
}

}  // namespace kvmeter::cli

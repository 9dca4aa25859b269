// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "harness/cli/commands.hpp"
#include "harness/core/error.hpp"
#include "harness/run/commands.hpp"

namespace kvmeter::cli {

Subcommand add_verify(CLI::App& app) {
  struct Options {
    std::string file;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "verify", "Hold bytes and work against the formulas (exit 3: a law fails)");
  command->add_option("file", options->file, "a result file")->type_name("OUT.h5");
  command->add_flag("--json", options->json, "print JSON instead of tables");
  command->footer("Example:\n  kvmeter verify out.h5");
  return {command, [options] {
            if (options->file.empty()) throw UsageError("verify: expected a result file OUT.h5");
            return Command{[o = *options] { return run::verify(o.file, o.json); }};
          }};
}

}  // namespace kvmeter::cli

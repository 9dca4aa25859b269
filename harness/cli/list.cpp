// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "harness/cli/commands.hpp"
#include "harness/run/commands.hpp"

namespace kvmeter::cli {

Subcommand add_list(CLI::App& app) {
  const auto what = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("list", "Show what there is to choose from");
  command->add_option("what", *what, "models, placements, codecs, attention or backends [all]")
      ->type_name("WHAT");
  command->footer("Example:\n  kvmeter list models");
  return {command, [what] { return Command{[what] { return run::list(*what); }}; }};
}

}  // namespace kvmeter::cli

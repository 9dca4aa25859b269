// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// One command per file: each adds its arguments and says how to make the command once they are
// read.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "harness/cli/cli.hpp"

namespace kvmeter::cli {

struct Subcommand {
  CLI::App* arguments;
  std::function<Command()> make;  // after parsing; throws UsageError
};

Subcommand add_list(CLI::App& app);
Subcommand add_size(CLI::App& app);
Subcommand add_plan(CLI::App& app);
Subcommand add_run(CLI::App& app, const std::string& command_line);
Subcommand add_merge(CLI::App& app);
Subcommand add_verify(CLI::App& app);
Subcommand add_check(CLI::App& app);
Subcommand add_peak(CLI::App& app);

}  // namespace kvmeter::cli

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/cli.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <sstream>

#include "harness/cli/commands.hpp"
#include "harness/core/error.hpp"
#include "harness/core/names.hpp"
#include "harness/core/quote.hpp"
#include "harness/core/tell.hpp"

namespace kvmeter::cli {
namespace {

std::string command_line(int argc, const char* const* argv) {
  std::string line;
  for (int i = 0; i < argc; ++i) line += (i > 0 ? " " : "") + quote_if_needed(argv[i], ' ');
  return line;
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    if (option->nonpositional()) names.push_back(option->get_name());
  return names;
}

/// Refuses the first argument that no option took, with the nearest name and all that are allowed.
void refuse_extra(const CLI::App& app, const std::vector<std::string>& commands) {
  const std::vector<std::string> extra = app.remaining();
  if (extra.empty()) return;
  const std::string given = extra.front().substr(0, extra.front().find('='));
  const bool is_flag = given.starts_with("-");
  const std::vector<std::string> allowed = is_flag ? flags_of(app) : commands;
  const std::vector<std::string_view> names(allowed.begin(), allowed.end());
  const std::string where = commands.empty() ? app.get_name() + ": " : "";
  if (names.empty()) throw UsageError(fmt::format("{}unexpected argument '{}'", where, given));
  throw UsageError(where + unknown_name(is_flag ? "option" : "command", given, names));
}

/// CLI11 keeps arguments that it does not know; refuse_extra() says more about them than it would.
std::vector<Subcommand> add_commands(CLI::App& app, const std::string& line) {
  std::vector<Subcommand> commands{add_list(app),      add_size(app),  add_plan(app),
                                   add_run(app, line), add_merge(app), add_verify(app),
                                   add_check(app),     add_peak(app)};
  app.allow_extras();
  for (const Subcommand& command : commands) command.arguments->allow_extras();
  return commands;
}

/// Prints help without the second blank line that CLI11 leaves between groups.
Command print(std::string text) {
  for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) text.erase(at, 1);
  return {[text] {
    fmt::print("{}", text);
    return 0;
  }};
}

Command choose(const CLI::App& app, const std::vector<Subcommand>& commands) {
  std::vector<std::string> names;
  for (const Subcommand& command : commands) names.push_back(command.arguments->get_name());
  refuse_extra(app, names);
  for (const Subcommand& command : commands) {
    if (!command.arguments->parsed()) continue;
    refuse_extra(*command.arguments, {});
    return command.make();
  }
  throw UsageError(fmt::format("no command given; allowed: {}", fmt::join(names, ", ")));
}

}  // namespace

Command parse(int argc, const char* const* argv) {
  CLI::App app("Measures KV caches and attention in complete transformer inference.", "kvmeter");
  app.set_version_flag("--version", "kvmeter " KVMETER_VERSION);
  app.require_subcommand(0, 1);
  app.footer(
      "kvmeter COMMAND --help shows the options of a command and an example.\n"
      "Exit codes: 0 all well; 1 bad command line or sweep; 2 some points failed;\n"
      "3 verify or check says no.");
  const std::vector<Subcommand> commands = add_commands(app, command_line(argc, argv));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out, ignored;
    if (app.exit(error, out, ignored) == 0) return print(out.str());
    throw UsageError(error.what());
  }
  return choose(app, commands);
}

int guarded(const std::function<int()>& function) {
  const auto report = [](std::string_view message) {
    std::istringstream lines{std::string(message)};
    for (std::string line; std::getline(lines, line);) tell("kvmeter: {}\n", line);
    return 1;
  };
  try {
    const int code = function();
    return std::fflush(stdout) == 0 ? code : report("standard output: cannot be written");
  } catch (const std::bad_alloc&) {
    return report("not enough memory");
  } catch (const std::exception& error) {
    return report(error.what());
  }
}

}  // namespace kvmeter::cli

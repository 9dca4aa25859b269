// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "harness/cli/commands.hpp"
#include "harness/core/error.hpp"
#include "harness/run/commands.hpp"

namespace kvmeter::cli {
namespace {

struct Options {
  std::string output;
  std::vector<std::string> journals;
};

Command make(const Options& options) {
  if (options.journals.empty())
    throw UsageError("merge: expected OUT.h5 and one or more journal folders");
  std::vector<std::filesystem::path> journals;
  for (const std::string& journal : options.journals) {
    if (!std::filesystem::is_directory(journal))
      throw UsageError(fmt::format("{}: no folder; expected journals: OUT.h5.journal", journal));
    journals.emplace_back(journal);
  }
  return {[output = options.output, journals] { return run::merge(output, journals); }};
}

}  // namespace

Subcommand add_merge(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("merge", "Write one result file from journals of finished points");
  command->add_option("output", options->output, "the result file to write")->type_name("OUT.h5");
  command->add_option("journals", options->journals, "folders OUT.h5.journal/")
      ->type_name("JOURNAL_DIR");
  command->footer("Example:\n  kvmeter merge all.h5 shard0.h5.journal shard1.h5.journal");
  return {command, [options] { return make(*options); }};
}

}  // namespace kvmeter::cli

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "harness/cli/commands.hpp"
#include "harness/cli/option_text.hpp"
#include "harness/core/error.hpp"
#include "harness/run/commands.hpp"

namespace kvmeter::cli {
namespace {

Command make(const run::PeakOptions& options) {
  Point scratch;
  set(scratch, *find_point_key("threads"), options.threads);
  const PointKey& model = *find_point_key("model");
  if (const auto wrong = run::value_check()(model, options.model)) throw UsageError(*wrong);
  return {[options] { return run::peak(options); }, true};
}

}  // namespace

Subcommand add_peak(CLI::App& app) {
  const auto options = std::make_shared<run::PeakOptions>();
  CLI::App* command =
      app.add_subcommand("peak", "Measure read bandwidth and matmul rate of this machine");
  command
      ->add_option(
          "--model", options->model,
          wrapped(fmt::format("whose shapes the matmul rate is measured at [{}]", options->model)))
      ->type_name("NAME");
  command
      ->add_option("--threads", options->threads,
                   "threads of the openmp back end: 0 (all) or more [0]")
      ->type_name("N");
  command->add_flag("--json", options->json, "print JSON instead of a table");
  command->footer("Example:\n  kvmeter peak --threads 2");
  return {command, [options] { return make(*options); }};
}

}  // namespace kvmeter::cli

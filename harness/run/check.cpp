// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/run/commands.hpp"
#include "harness/run/expected.hpp"
#include "harness/run/reference_check.hpp"

namespace kvmeter::run {
namespace {

void print_table(const std::vector<Difference>& differences) {
  fmt::print("{:<24}{:>12}{:>12}{:>12}  {:<8}{}\n", "tensor", "worst", "bound", "mean", "verdict",
             "worst at");
  for (const Difference& d : differences)
    fmt::print("{:<24}{:>12.3e}{:>12.3e}{:>12.2e}  {:<8}{}\n", d.what, d.worst, d.bound, d.mean,
               d.passed() ? "same" : "DIFFERS", d.where);
}

void print_json(const std::vector<Difference>& differences) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Difference& d : differences)
    all.push_back({{"tensor", d.what},
                   {"worst", d.worst},
                   {"bound", d.bound},
                   {"mean", d.mean},
                   {"where", d.where},
                   {"passed", d.passed()}});
  fmt::print("{}\n", all.dump(2));
}

/// The other side computed in f32.
double default_tolerance(const Setup& s) {
  const bool rounds = visit_backend(s.backend, [&](auto tag) {
    using Exec = typename decltype(tag)::type;
    return ops::Matmul<Exec>::rounds_activations(s.point.batch * s.point.prompt_tokens, s.element);
  });
  return logit_bound(s, rounds);
}

}  // namespace

int check(const CheckOptions& options) {
  const Expected expected = read_expected(options.expected);
  Point point = options.point;
  point.batch = expected.batch;
  point.prompt_tokens = expected.prompt_tokens;
  point.new_tokens = std::max<std::int64_t>(expected.new_tokens, 1);
  const Setup setup = make_setup(point, 1);
  const auto differences =
      compare_with_expected(setup, expected, options.tolerance.value_or(default_tolerance(setup)));
  options.json ? print_json(differences) : print_table(differences);
  for (const Difference& d : differences)
    if (!d.passed()) return 3;
  return 0;
}

}  // namespace kvmeter::run

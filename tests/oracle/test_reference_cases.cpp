// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The oracle against transformers. What remains is the other side's f32 arithmetic: transformers in
// f64 differs from its f32 logits by at most 2.1e-6 of the largest (tests/fixtures/README.md). 2e-5
// leaves room for longer prompts and still tells the two forms of GELU apart, which differ
// by 1.2e-4.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "tests/oracle/functions.hpp"
#include "tests/oracle/model.hpp"
#include "tests/support/all_close.hpp"
#include "tests/support/reference_cases.hpp"

namespace kvmeter::oracle {
namespace {

using test::AllClose;
constexpr double tolerance = 2e-5;

TEST_CASE("Oracle equals transformers in one pass") {
  const auto reference = GENERATE(from_range(test::reference_cases()));
  CAPTURE(reference);
  const Model model = Model::load(reference.folder);
  const auto expected = test::read_expected(reference.folder);
  const double bound = tolerance * test::max_abs(expected.logits);
  for (std::int64_t b = 0; b < expected.batch; ++b) {
    CAPTURE(b);
    const Matrix logits = model.logits(expected.prompt_of(b));
    CHECK_THAT(logits.data, AllClose(expected.logits_of(b), bound, {logits.rows, logits.cols}));
  }
}

TEST_CASE("Oracle chooses the tokens that transformers chooses") {
  const auto reference = GENERATE(from_range(test::reference_cases()));
  CAPTURE(reference);
  const Model model = Model::load(reference.folder);
  const auto expected = test::read_expected(reference.folder);
  const double bound = tolerance * test::max_abs(expected.step_logits);
  for (std::int64_t b = 0; b < expected.batch; ++b) {
    Cache cache = model.make_cache();
    Matrix logits = model.advance(cache, expected.prompt_of(b));
    Matrix steps;
    std::vector<std::int64_t> generated;
    for (std::int64_t step = 0; step < expected.n_new; ++step) {
      steps.append_row(logits.row(logits.rows - 1));
      generated.push_back(argmax(logits.row(logits.rows - 1)));
      logits = model.advance(cache, std::span(generated).last(1));
    }
    CAPTURE(b);
    CHECK_THAT(steps.data, AllClose(expected.step_logits_of(b), bound, {steps.rows, steps.cols}));
    const auto chosen = expected.generated_of(b);
    CHECK(generated == std::vector<std::int64_t>(chosen.begin(), chosen.end()));
  }
}

TEST_CASE("Oracle's negative log likelihoods are those of transformers") {
  // The logits' bound twice over: log softmax moves by at most twice what its logits do.
  for (const auto& reference : test::reference_cases()) {
    const auto expected = test::read_expected(reference.folder);
    if (expected.nll.empty()) continue;
    CAPTURE(reference);
    const Model model = Model::load(reference.folder);
    const double bound = 2 * tolerance * test::max_abs(expected.logits);
    for (std::int64_t b = 0; b < expected.batch; ++b) {
      const auto ids = expected.prompt_of(b);
      const Matrix logits = model.logits(ids);
      Vector nll;
      for (std::int64_t i = 0; i + 1 < logits.rows; ++i)
        nll.push_back(negative_log_likelihood(logits.row(i), ids[static_cast<std::size_t>(i) + 1]));
      CHECK_THAT(nll, AllClose(expected.nll_of(b), bound));
    }
  }
}

}  // namespace
}  // namespace kvmeter::oracle

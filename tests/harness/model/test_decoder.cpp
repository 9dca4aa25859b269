// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Whole models against what transformers computed. Both sides are f32; transformers differs from
// its own f64 by at most 2.1e-6 of the largest logit (tests/fixtures/README.md), and 2e-5 leaves
// each side as much again and more, while the two forms of GELU, 1.2e-4 apart, are still told from
// each other.
#include "harness/model/decoder.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "harness/exec/threads.hpp"
#include "tests/harness/model/decoder_run.hpp"
#include "tests/oracle/model.hpp"
#include "tests/support/all_close.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_cases.hpp"

namespace kvmeter::test {
namespace {

constexpr double tolerance = 2e-5;  // of the largest logit

template <class Exec>
struct Case {
  ModelConfig config;
  ModelWeights<typename Exec::memory_space> weights;
  Expected expected;
};
template <class Exec>
Case<Exec> load(const Exec& exec, const ReferenceCase& reference) {
  const ModelConfig config = read_model_config(reference.folder / "config.json");
  return {config, load_weights(exec, config, reference.folder, Element::f32),
          read_expected(reference.folder)};
}

Ids ids_of(std::span<const std::int64_t> ids) {
  return {ids.begin(), ids.end()};
}

std::vector<std::vector<std::int32_t>> prompts_of(const Expected& expected) {
  std::vector<std::vector<std::int32_t>> prompts;
  for (std::int64_t b = 0; b < expected.batch; ++b)
    prompts.push_back(narrow(expected.prompt_of(b)));
  return prompts;
}

TEMPLATE_LIST_TEST_CASE("One pass gives the logits of transformers at every position", "",
                        TestExecs) {
  const auto reference = GENERATE(from_range(reference_cases()));
  const auto combination = GENERATE(from_range(lossless_combinations()));
  CAPTURE(reference, combination.name());
  const TestType exec;
  const auto model = load(exec, reference);
  const Expected& expected = model.expected;
  DecoderRun<TestType> run(exec, model.config, model.weights, combination, expected.batch,
                           expected.prompt);
  std::vector<typename DecoderRun<TestType>::Part> parts;
  for (std::int64_t b = 0; b < expected.batch; ++b)
    parts.emplace_back(b, ids_of(expected.prompt_of(b)));
  CHECK_THAT(run.step(parts), AllClose(expected.logits, tolerance * max_abs(expected.logits),
                                       {expected.batch, expected.prompt, expected.vocab}));
}

TEMPLATE_LIST_TEST_CASE("Prefill and decode give the logits of transformers at every step", "",
                        TestExecs) {
  const auto reference = GENERATE(from_range(reference_cases()));
  const auto combination = GENERATE(from_range(lossless_combinations()));
  CAPTURE(reference, combination.name());
  const TestType exec;
  const auto model = load(exec, reference);
  const Expected& expected = model.expected;
  const double bound = tolerance * max_abs(expected.step_logits);
  DecoderRun<TestType> run(exec, model.config, model.weights, combination, expected.batch,
                           expected.prompt + expected.n_new);
  std::vector<typename DecoderRun<TestType>::Part> parts;
  for (std::int64_t b = 0; b < expected.batch; ++b)
    parts.emplace_back(b, ids_of(expected.prompt_of(b)));
  for (std::int64_t step = 0; step < expected.n_new; ++step) {
    run.step(parts);
    std::vector<double> wanted;
    for (std::int64_t b = 0; b < expected.batch; ++b) {
      const auto of_step =
          expected.step_logits_of(b).subspan(static_cast<std::size_t>(step * expected.vocab),
                                             static_cast<std::size_t>(expected.vocab));
      wanted.insert(wanted.end(), of_step.begin(), of_step.end());
      const auto chosen = expected.generated_of(b)[static_cast<std::size_t>(step)];
      parts[static_cast<std::size_t>(b)] = {static_cast<std::int32_t>(b), Ids{chosen}};
    }
    CAPTURE(step);
    CHECK_THAT(run.last_logits(), AllClose(wanted, bound, {expected.batch, expected.vocab}));
  }
}

TEMPLATE_LIST_TEST_CASE("A ring of the window and a step gives the logits of transformers", "",
                        TestExecs) {
  const auto reference = GENERATE(from_range(reference_cases()));
  const auto& attention = GENERATE(from_range(attentions));
  const TestType exec;
  const auto model = load(exec, reference);
  const Expected& expected = model.expected;
  const auto& windows = model.config.windows;
  const std::int64_t window = windows.empty() ? 0 : std::ranges::max(windows);
  if (window == 0 || window >= expected.prompt) return;
  CAPTURE(reference, attention.name, window);
  constexpr std::int64_t step = 5;
  const Combination ring{{"ring", PlacementId::Ring}, codecs[0], codecs[0], attention};
  CacheSpec spec = cache_spec(model.config, 1, expected.prompt + expected.n_new);
  spec.max_step_tokens = step;
  DecoderRun<TestType> run(exec, model.config, model.weights, ring, spec);
  const double bound = tolerance * max_abs(expected.logits);
  const auto ids = ids_of(expected.prompt_of(0));
  for (std::int64_t first = 0; first < expected.prompt; first += step) {
    const std::int64_t end = std::min(first + step, expected.prompt);
    const auto logits = run.step({{0, Ids(ids.begin() + first, ids.begin() + end)}});
    const auto wanted =
        expected.logits_of(0).subspan(static_cast<std::size_t>(first * expected.vocab),
                                      static_cast<std::size_t>((end - first) * expected.vocab));
    CAPTURE(first);
    CHECK_THAT(logits, AllClose(wanted, bound));
  }
  for (std::int64_t i = 0; i + 1 < expected.n_new; ++i) {
    const auto chosen = expected.generated_of(0)[static_cast<std::size_t>(i)];
    const auto logits = run.step({{0, Ids{chosen}}});
    CAPTURE(i);
    CHECK_THAT(logits, AllClose(expected.step_logits_of(0).subspan(
                                    static_cast<std::size_t>((i + 1) * expected.vocab),
                                    static_cast<std::size_t>(expected.vocab)),
                                bound));
  }
  const std::int64_t row = model.config.kv_dim() * 2 * 4;  // K and V, f32
  CHECK(run.cache().footprint().reserved_bytes ==
        model.config.n_layers * std::min(window + step - 1, spec.max_tokens) * row);
}

/// Thread counts to try: 0 is whatever there is.
template <class Exec>
std::vector<std::int64_t> thread_counts() {
  if (!std::is_same_v<Exec, Kokkos::OpenMP>) return {0};
  return available_threads() < 2 ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>{1, 2};
}

TEMPLATE_LIST_TEST_CASE("Greedy generation chooses what transformers chose, on 1 and 2 threads", "",
                        TestExecs) {
  const auto reference = GENERATE(from_range(reference_cases()));
  const auto combination = GENERATE(from_range(lossless_combinations()));
  for (const std::int64_t threads : thread_counts<TestType>()) {
    CAPTURE(reference, combination.name(), threads);
    const auto exec = make_exec<TestType>(threads);
    const auto model = load(exec, reference);
    const auto generated = generate(exec, model.config, model.weights, combination,
                                    prompts_of(model.expected), model.expected.n_new);
    for (std::int64_t b = 0; b < model.expected.batch; ++b)
      CHECK(generated[static_cast<std::size_t>(b)] == narrow(model.expected.generated_of(b)));
  }
}

TEMPLATE_LIST_TEST_CASE("prefill(n) + decode(1) is prefill(n + 1), for ragged batches too", "",
                        TestExecs) {
  // Each side is within the tolerance of the oracle.
  const auto reference = GENERATE(from_range(reference_cases()));
  const auto combination = GENERATE(from_range(lossless_combinations()));
  CAPTURE(reference, combination.name());
  const TestType exec;
  const auto model = load(exec, reference);
  const auto ids = ids_of(model.expected.prompt_of(0));
  const oracle::Matrix logits = oracle::Model::load(reference.folder).logits(ids);
  const double bound = tolerance * max_abs(logits.data);
  DecoderRun<TestType> run(exec, model.config, model.weights, combination, 3, std::ssize(ids));
  const std::int64_t longest = std::ssize(ids) - 1;
  for (const std::int64_t n : {std::int64_t{1}, std::int64_t{2}, longest / 2, longest}) {
    CAPTURE(n);
    for (const std::int32_t slot : {0, 1, 2}) run.forget(slot);
    const auto first = [&](std::int64_t count) { return Ids(ids.begin(), ids.begin() + count); };
    run.step({{2, first(3)}, {0, first(n)}, {1, first(n + 1)}});
    const auto whole = run.last_logits();
    run.step({{0, {ids[static_cast<std::size_t>(n)]}}});
    const auto row = logits.row(n);
    CHECK_THAT(run.last_logits(), AllClose(row, bound));
    const std::vector<float> last(whole.end() - std::ssize(row), whole.end());
    CHECK_THAT(last, AllClose(row, bound));
  }
}

}  // namespace
}  // namespace kvmeter::test

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Whole models with caches of fewer bits. A last-bit difference flips a few roundings, which flip
// more in the next layer, so that two correct implementations differ by a share of what rounding
// itself does, and cannot be compared value by value. The bound is what rounding may do: the codec
// changes an element by at most e(x) = relative_error |x| + absolute_error, and the oracle says how
// far the logits move when every element of K and V changes by the whole of e(x) with random signs.
// To first order, real roundings, which are smaller and as random, move them less; twice the
// largest of 4 such probes is the bound, and f32's own tolerance is added.
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cmath>

#include "tests/harness/model/decoder_run.hpp"
#include "tests/oracle/model.hpp"
#include "tests/support/all_close.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_cases.hpp"

namespace kvmeter::test {
namespace {

constexpr double tolerance = 2e-5;

oracle::Rounding shake(Random& random, const CodecFacts& codec) {
  return [&random, codec](std::span<double> row) {
    for (double& x : row) {
      const double error = codec.relative_error * std::abs(x) + codec.absolute_error;
      x += random.between(0, 1) == 1 ? error : -error;
    }
  };
}

/// Largest change of any logit when K and V change by all that the codecs may do.
double effect_of_rounding(const oracle::Model& model, const Ids& ids, const oracle::Matrix& exact,
                          const Combination& combination) {
  Random random("probes", 1);
  double largest = 0;
  for (int probe = 0; probe < 4; ++probe) {
    oracle::Cache cache = model.make_cache();
    cache.round_k = shake(random, combination.k);
    cache.round_v = shake(random, combination.v);
    const oracle::Matrix shaken = model.advance(cache, ids);
    for (std::size_t i = 0; i < exact.data.size(); ++i)
      largest = std::max(largest, std::abs(shaken.data[i] - exact.data[i]));
  }
  return largest;
}

TEMPLATE_LIST_TEST_CASE("Rounded caches move logits as far as rounding may, and do move them", "",
                        TestExecs) {
  const auto reference = GENERATE(from_range(reference_cases()));
  const oracle::Model model = oracle::Model::load(reference.folder);
  const Expected expected = read_expected(reference.folder);
  const auto prompt = expected.prompt_of(0);
  const Ids ids(prompt.begin(), prompt.end());
  const oracle::Matrix exact = model.logits(ids);
  const TestType exec;
  const ModelConfig config = read_model_config(reference.folder / "config.json");
  const auto weights = load_weights(exec, config, reference.folder, Element::f32);
  for (const Combination& combination : all_combinations()) {
    if (combination.k.id == CodecId::f32 && combination.v.id == CodecId::f32) continue;
    CAPTURE(reference, combination.name());
    const double effect = effect_of_rounding(model, ids, exact, combination);
    const double bound = 2 * effect + tolerance * max_abs(exact.data);
    DecoderRun<TestType> run(exec, config, weights, combination, 1, std::ssize(ids));
    // A prefill of half, then single steps, so that both read what was rounded.
    const auto half = ids.begin() + std::ssize(ids) / 2;
    std::vector<double> logits = run.step({{0, Ids(ids.begin(), half)}});
    for (auto id = half; id != ids.end(); ++id) {
      const auto step = run.step({{0, Ids{*id}}});
      logits.insert(logits.end(), step.begin(), step.end());
    }
    CHECK_THAT(logits, AllClose(exact.data, bound, {exact.rows, exact.cols}));
    CHECK_THAT(logits, !AllClose(exact.data, effect / 20));
  }
}

}  // namespace
}  // namespace kvmeter::test

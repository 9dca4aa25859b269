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

/// Largest change of any logit when every element of K and V changes by all that the codec may do.
double effect_of_rounding(const oracle::Model& model, const Ids& ids, const oracle::Matrix& exact,
                          const CodecFacts& codec) {
  Random random("probes", 1);
  double largest = 0;
  for (int probe = 0; probe < 4; ++probe) {
    oracle::Cache cache = model.make_cache();
    cache.round_k = cache.round_v = shake(random, codec);
    const oracle::Matrix shaken = model.advance(cache, ids);
    for (std::size_t i = 0; i < exact.data.size(); ++i)
      largest = std::max(largest, std::abs(shaken.data[i] - exact.data[i]));
  }
  return largest;
}

/// Combinations with this codec for both K and V; mixtures are the contract tests' business.
std::vector<Combination> combinations_of(const CodecFacts& codec) {
  std::vector<Combination> all = all_combinations();
  std::erase_if(all, [&](const auto& c) { return c.k.id != codec.id || c.v.id != codec.id; });
  return all;
}

/// Logits of all ids: a prefill of half, 3 single steps, and the rest as a chunk.
template <class Exec>
std::vector<double> stepwise_logits(DecoderRun<Exec>& run, const Ids& ids) {
  std::vector<double> logits;
  const std::int64_t half = std::ssize(ids) / 2;
  const std::vector<std::int64_t> ends{half, half + 1, half + 2, half + 3, std::ssize(ids)};
  std::int64_t first = 0;
  for (const std::int64_t end : ends) {
    const auto step = run.step({{0, Ids(ids.begin() + first, ids.begin() + end)}});
    logits.insert(logits.end(), step.begin(), step.end());
    first = end;
  }
  return logits;
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
  for (const CodecFacts& codec : codecs) {
    if (codec.relative_error == 0) continue;
    const double effect = effect_of_rounding(model, ids, exact, codec);
    const double bound = 2 * effect + tolerance * max_abs(exact.data);
    for (const Combination& combination : combinations_of(codec)) {
      CAPTURE(reference, combination.name());
      DecoderRun<TestType> run(exec, config, weights, combination, 1, std::ssize(ids));
      const auto logits = stepwise_logits(run, ids);
      CHECK_THAT(logits, AllClose(exact.data, bound, {exact.rows, exact.cols}));
      CHECK_THAT(logits, !AllClose(exact.data, effect / 20));
    }
  }
}

}  // namespace
}  // namespace kvmeter::test

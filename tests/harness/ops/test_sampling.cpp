// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/ops/sampling.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "tests/oracle/functions.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/random.hpp"

namespace kvmeter::test {
namespace {

using Ids = std::vector<std::int32_t>;
constexpr float inf = std::numeric_limits<float>::infinity();

/// Chooses from rows of logits [slots.size(), vocab].
template <class Exec>
Ids sample(const ops::SamplingParameters& parameters, const std::vector<float>& logits,
           const Ids& slots, const Ids& positions) {
  const Exec exec;
  const auto n = static_cast<std::int64_t>(slots.size());
  const auto device_logits = to_device(exec, logits, n);
  const auto weights = to_device(exec, std::vector<float>(logits.size(), std::nanf("")), n);
  const auto ids = to_device(exec, Ids(slots.size(), -1));
  ops::sample<Exec>(
      exec, parameters,
      {device_logits, weights, to_device(exec, slots), to_device(exec, positions), ids});
  return to_host(exec, ids);
}

/// The same row drawn from `n` times, with other random numbers each time.
template <class Exec>
Ids draw(const ops::SamplingParameters& parameters, const std::vector<float>& row, std::size_t n) {
  std::vector<float> logits;
  for (std::size_t i = 0; i < n; ++i) logits.insert(logits.end(), row.begin(), row.end());
  Ids slots(n);
  Ids positions(n);
  for (std::size_t i = 0; i < n; ++i) {
    slots[i] = static_cast<std::int32_t>(i % 7);
    positions[i] = static_cast<std::int32_t>(i / 7);
  }
  return sample<Exec>(parameters, logits, slots, positions);
}

template <class Exec>
std::set<std::int32_t> drawn_ids(const ops::SamplingParameters& parameters,
                                 const std::vector<float>& row) {
  const Ids ids = draw<Exec>(parameters, row, 3000);
  return {ids.begin(), ids.end()};
}

ops::SamplingParameters random_parameters() {
  ops::SamplingParameters parameters;
  parameters.greedy = false;
  return parameters;
}

/// Logits of these probabilities.
std::vector<float> logits_of(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

TEMPLATE_LIST_TEST_CASE("Greedy takes the lowest id of the highest logit", "[sampling]",
                        TestExecs) {
  const std::vector<float> rows{1,    7,    7,      7,    -1,  //
                                -5,   -5,   -5,     -5,   -5,  //
                                -9,   -8,   -7,     -6,   -3,  //
                                3,    2,    1,      0,    3,   //
                                -inf, -inf, -1e38F, -inf, -inf};
  CHECK(sample<TestType>({}, rows, {0, 1, 2, 3, 4}, {0, 0, 0, 0, 0}) == Ids{1, 0, 4, 0, 2});
}

TEMPLATE_LIST_TEST_CASE("Greedy over a large vocabulary with ties across packs and threads",
                        "[sampling]", TestExecs) {
  Random random("greedy");
  const std::int64_t vocab = 49152 + 3;
  auto logits = random.normal(2 * vocab);
  const auto first = static_cast<std::int32_t>(random.between(0, vocab - 2));
  logits.at(static_cast<std::size_t>(first)) = 100;
  logits.at(static_cast<std::size_t>(random.between(first, vocab - 1))) = 100;
  logits.at(static_cast<std::size_t>(2 * vocab - 1)) = 100;  // the very last of the second row
  CHECK(sample<TestType>({}, logits, {0, 1}, {0, 0}) ==
        Ids{first, static_cast<std::int32_t>(vocab - 1)});
}

TEMPLATE_LIST_TEST_CASE("Draws follow softmax(logits / temperature)", "[sampling]", TestExecs) {
  const double temperature = GENERATE(1.0, 0.5, 2.0);
  CAPTURE(temperature);
  const std::vector<float> row{0.5F, -1, 2, 0, -0.3F, 1.5F, 1, -2};
  auto parameters = random_parameters();
  parameters.temperature = static_cast<float>(temperature);
  const std::size_t n = 20000;
  std::vector<double> counts(row.size());
  for (const auto id : draw<TestType>(parameters, row, n))
    counts.at(static_cast<std::size_t>(id)) += 1;
  oracle::Vector scaled;
  for (const double logit : row) scaled.push_back(logit / temperature);
  const oracle::Vector expected = oracle::softmax(scaled);
  double chi_square = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double mean = expected[i] * static_cast<double>(n);
    chi_square += (counts[i] - mean) * (counts[i] - mean) / mean;
  }
  CHECK(chi_square <
        24.32);  // exceeded by one in a thousand seeds, 7 degrees of freedom; ours is fixed
  CHECK(chi_square > 0.6);  // so even a spread would be no chance either: one in a thousand
}

TEMPLATE_LIST_TEST_CASE("top_k keeps the k most likely and the equals of the last", "[sampling]",
                        TestExecs) {
  const std::vector<float> row{0, 2, 1, 2, -1, 1};
  auto parameters = random_parameters();
  using Set = std::set<std::int32_t>;
  parameters.top_k = 2;
  CHECK(drawn_ids<TestType>(parameters, row) == Set{1, 3});
  parameters.top_k = 3;
  CHECK(drawn_ids<TestType>(parameters, row) == Set{1, 2, 3, 5});
  parameters.top_k = 5;
  CHECK(drawn_ids<TestType>(parameters, row) == Set{0, 1, 2, 3, 5});
  for (const std::int32_t all : {0, 6, 100}) {
    parameters.top_k = all;
    CHECK(drawn_ids<TestType>(parameters, row) == Set{0, 1, 2, 3, 4, 5});
  }
}

TEMPLATE_LIST_TEST_CASE("top_p keeps the least set of likely tokens with that mass", "[sampling]",
                        TestExecs) {
  const auto row = logits_of({0.05, 0.5, 0.15, 0.3});
  auto parameters = random_parameters();
  using Set = std::set<std::int32_t>;
  const auto kept = [&](double top_p) {
    parameters.top_p = top_p;
    return drawn_ids<TestType>(parameters, row);
  };
  CHECK(kept(1e-9) == Set{1});
  CHECK(kept(0.49) == Set{1});
  CHECK(kept(0.51) == Set{1, 3});
  CHECK(kept(0.79) == Set{1, 3});
  CHECK(kept(0.81) == Set{1, 2, 3});
  CHECK(kept(0.94) == Set{1, 2, 3});
  CHECK(kept(0.96) == Set{0, 1, 2, 3});
  CHECK(kept(1) == Set{0, 1, 2, 3});
}

TEMPLATE_LIST_TEST_CASE("top_p takes its share of what top_k left", "[sampling]", TestExecs) {
  auto parameters = random_parameters();
  parameters.top_p = 0.5;  // of all: two tokens; of the two that top_k leaves: 0.4 / 0.7 is enough
  const auto row = logits_of({0.4, 0.3, 0.2, 0.1});
  CHECK(drawn_ids<TestType>(parameters, row) == std::set<std::int32_t>{0, 1});
  parameters.top_k = 2;
  CHECK(drawn_ids<TestType>(parameters, row) == std::set<std::int32_t>{0});
}

TEMPLATE_LIST_TEST_CASE("A draw depends on seed, slot and position alone", "[sampling]",
                        TestExecs) {
  Random random("draws");
  const std::int64_t vocab = 300;
  const auto row = random.normal(vocab);
  const auto draws = [&](std::uint64_t seed, const Ids& slots, const Ids& positions) {
    auto parameters = random_parameters();
    parameters.seed = seed;
    std::vector<float> logits;
    for (std::size_t i = 0; i < slots.size(); ++i)
      logits.insert(logits.end(), row.begin(), row.end());
    return sample<TestType>(parameters, logits, slots, positions);
  };
  const Ids ids = draws(1, {0, 1, 2, 3}, {10, 10, 11, 5});
  CHECK(draws(1, {3, 2, 1, 0}, {5, 11, 10, 10}) == Ids(ids.rbegin(), ids.rend()));
  CHECK(draws(1, {2}, {11}) == Ids{ids[2]});
  // 8 draws of 300 tokens would hardly agree by chance.
  const Ids slots(8, 4);
  Ids positions(8);
  std::iota(positions.begin(), positions.end(), 0);
  CHECK(draws(1, slots, positions) != draws(2, slots, positions));
  CHECK(draws(1, slots, positions) != draws(1, Ids(8, 5), positions));
  CHECK(draws(1, slots, positions) != Ids(8, draws(1, {4}, {0}).front()));
}

TEST_CASE("Every back end draws the same", "[sampling]") {
  Random random("back ends");
  auto parameters = random_parameters();
  parameters.temperature = 0.8F;
  parameters.top_k = 40;
  parameters.top_p = 0.9;
  const auto row = random.normal(500);
  CHECK(draw<Kokkos::Serial>(parameters, row, 100) == draw<Kokkos::OpenMP>(parameters, row, 100));
}

}  // namespace
}  // namespace kvmeter::test

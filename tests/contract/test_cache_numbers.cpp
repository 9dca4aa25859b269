// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Values that break careless arithmetic: huge scores, zeros, long contexts, elements out of range.
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cmath>

#include "tests/contract/cache_driver.hpp"
#include "tests/oracle/rounding.hpp"
#include "tests/support/all_close.hpp"

namespace kvmeter::test {
namespace {

CacheSpec one_head(std::int64_t head_dim, std::int64_t max_tokens) {
  return {.n_layers = 1,
          .n_heads = 1,
          .n_kv_heads = 1,
          .head_dim = head_dim,
          .batch = 1,
          .max_tokens = max_tokens};
}

LayerRows zero_rows(const CacheSpec& spec, std::int64_t n_tokens) {
  return {oracle::Matrix(n_tokens, spec.n_heads * spec.head_dim),
          oracle::Matrix(n_tokens, spec.n_kv_heads * spec.head_dim),
          oracle::Matrix(n_tokens, spec.n_kv_heads * spec.head_dim)};
}

/// Output of the last of n tokens, all given in one step or one by one.
template <class Exec>
std::vector<double> last_output(const Combination& combination, const CacheSpec& spec,
                                const LayerRows& rows, bool one_by_one) {
  const std::int64_t n = rows.q.rows;
  CacheDriver<Exec> driver(combination, spec, n);
  driver.set_rows(0, {rows});
  if (one_by_one && n > 1) driver.step({{0, n - 1}});
  const auto out = driver.step({{0, one_by_one ? 1 : n}}).at(0).at(0);
  const auto last = out.row(out.rows - 1);
  return {last.begin(), last.end()};
}

TEMPLATE_LIST_TEST_CASE("Scores up to 460,800 do not overflow", "", TestExecs) {
  // q . k / sqrt(16) = +-(1920 x 960) / 4 = +-460,800. Two keys share the largest score exactly,
  // whatever their codec makes of it, and all others are far below.
  const auto combination = GENERATE(from_range(all_combinations()));
  const bool one_by_one = GENERATE(false, true);
  CAPTURE(combination.name(), one_by_one);
  const CacheSpec spec = one_head(16, 70);
  LayerRows rows = zero_rows(spec, 70);
  for (std::int64_t i = 0; i < 70; ++i) {
    rows.q(i, 3) = 1920;
    rows.k(i, 3) = i == 20 || i == 65 ? 960 : -960;
    rows.v(i, 0) = 100;
  }
  rows.v(20, 0) = 1;
  rows.v(65, 0) = 3;
  const auto out = last_output<TestType>(combination, spec, rows, one_by_one);
  const CodecFacts& v = combination.v;
  const bool holds_three = v.relative_error <= 0x1p-4 && v.largest_error == 0;  // exactly
  const double error =
      holds_three ? 0 : 2 * (v.relative_error + v.largest_error) + v.absolute_error;
  CHECK_THAT(out,
             AllClose(std::vector<double>{2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, error));
}

TEMPLATE_LIST_TEST_CASE("All-zero rows give exact zeros, equal keys plain means", "", TestExecs) {
  const auto combination = GENERATE(from_range(all_combinations()));
  const bool one_by_one = GENERATE(false, true);
  CAPTURE(combination.name(), one_by_one);
  const CacheSpec spec = one_head(40, 64);
  LayerRows rows = zero_rows(spec, 64);
  for (double& value : rows.q.data) value = 1;
  CHECK(last_output<TestType>(combination, spec, rows, one_by_one) == std::vector<double>(40, 0));
  // 64 keys alike: (64 x 1) / 64, every step of it exact.
  for (double& value : rows.k.data) value = 0.5;
  for (double& value : rows.v.data) value = 1;
  const auto means = last_output<TestType>(combination, spec, rows, one_by_one);
  const CodecFacts& v = combination.v;
  const double error = v.largest_error == 0 ? 0 : v.largest_error + v.absolute_error;
  CHECK_THAT(means, AllClose(std::vector<double>(40, 1), error));
}

TEMPLATE_LIST_TEST_CASE("100,000 keys of slowly falling score", "", TestExecs) {
  // Scores fall from 0 by 2^-14 a key, all exact: the newest key counts least, and each weight
  // matters.
  const auto combination = GENERATE(from_range(lossless_combinations()));
  CAPTURE(combination.name());
  const std::int64_t n = 100000;
  const CacheSpec spec = one_head(4, n);
  LayerRows rows = zero_rows(spec, n);
  for (std::int64_t i = 0; i < n; ++i) {
    rows.k(i, 0) = -static_cast<double>(i) * 0x1p-13;
    rows.v(i, 1) = static_cast<double>(i % 1000) - 500;
    rows.v(i, 2) = 1;
  }
  rows.q(n - 1, 0) = 1;
  CacheDriver<TestType> driver(combination, spec, n);
  driver.set_rows(0, {rows});
  // Only the last query's answer is checked; a whole prefill of this length would take minutes.
  if (!driver.cache().keeps_past()) return;
  for (std::int64_t held = 0; held < n - 1; held += 9999) {
    const auto part = std::min<std::int64_t>(9999, n - 1 - held);
    driver.append_only({{0, part}});
  }
  driver.checked_step({{0, 1}});
}

TEMPLATE_LIST_TEST_CASE("Elements out of range saturate", "", TestExecs) {
  const auto combination = GENERATE(from_range(all_combinations()));
  CAPTURE(combination.name());
  const CacheSpec spec = one_head(32, 2);
  LayerRows rows = zero_rows(spec, 2);
  const std::vector<double> extremes{1e6,    -1e6,    65504,    65519, 65520,
                                     -65536, 3.4e38F, -3.4e38F, 1e-7F, 1e-30F};
  for (std::size_t i = 0; i < extremes.size(); ++i)
    rows.k(0, static_cast<std::int64_t>(i)) = rows.v(0, static_cast<std::int64_t>(i)) = extremes[i];
  CacheDriver<TestType> driver(combination, spec, 2);
  driver.set_rows(0, {rows});
  driver.step({{0, 1}});
  const auto stored = driver.stored_row(0, 0, 0);
  const auto expect = [&](const CodecFacts& codec, const oracle::Matrix& given) {
    const auto row = given.row(0);
    std::vector<double> values(row.begin(), row.end());
    oracle::rounding_of(codec.name)(values);
    return values;
  };
  CHECK_THAT(stored.k, AllClose(expect(combination.k, rows.k), 0));
  CHECK_THAT(stored.v, AllClose(expect(combination.v, rows.v), 0));
}

}  // namespace
}  // namespace kvmeter::test

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The bound holds for float attention and is tight enough to notice a single key too many.
#include "tests/contract/attention_bound.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "tests/support/all_close.hpp"
#include "tests/support/random.hpp"

namespace kvmeter::test {
namespace {

oracle::Matrix random_matrix(Random& random, std::int64_t rows, std::int64_t cols) {
  const auto values = random.normal(rows * cols);
  return {rows, cols, {values.begin(), values.end()}};
}

/// The last query of one head, all in float, keys one after the other with a running maximum.
std::vector<double> attend_in_float(const oracle::Matrix& q, const oracle::Matrix& k,
                                    const oracle::Matrix& v) {
  std::vector<float> out(static_cast<std::size_t>(v.cols));
  float highest = -INFINITY;
  float sum = 0;
  for (std::int64_t key = 0; key < k.rows; ++key) {
    float score = 0;
    for (std::int64_t c = 0; c < k.cols; ++c)
      score += static_cast<float>(q(q.rows - 1, c)) * static_cast<float>(k(key, c));
    score *= static_cast<float>(1 / std::sqrt(static_cast<double>(k.cols)));
    const float top = std::max(highest, score);
    const float keep = std::exp(highest - top);
    const float weight = std::exp(score - top);
    sum = sum * keep + weight;
    for (std::size_t c = 0; c < out.size(); ++c)
      out[c] = out[c] * keep + weight * static_cast<float>(v(key, static_cast<std::int64_t>(c)));
    highest = top;
  }
  for (float& value : out) value /= sum;
  return {out.begin(), out.end()};
}

TEST_CASE("The bound holds for attention in float and fails with one key more or less") {
  Random random("bound");
  for (const std::int64_t n : {1, 2, 17, 64, 300}) {
    CAPTURE(n);
    const auto q = random_matrix(random, 1, 64);
    const auto k = random_matrix(random, n, 64);
    const auto v = random_matrix(random, n, 64);
    const oracle::AttendShape shape{1, 1, 64, n - 1, 0};
    const auto reference = oracle::attend(q, k, v, shape);
    const auto bound = attention_bound(q, k, v, shape);
    CHECK_THAT(attend_in_float(q, k, v), AllClose(reference.data, bound.data));
    CHECK(max_abs(bound.data) < 1e-3);
    if (n == 1) continue;
    const auto fewer = oracle::attend(q, k, v, {1, 1, 64, n - 1, n - 1});
    CHECK_THAT(fewer.data, !AllClose(reference.data, bound.data));
  }
}

TEST_CASE("The bound covers what storage does to K and V") {
  Random random("storage bound");
  const StorageError error{0x1p-8, 1e-3};
  const auto q = random_matrix(random, 1, 32);
  const auto k = random_matrix(random, 40, 32);
  const auto v = random_matrix(random, 40, 32);
  oracle::Matrix stored_k = k;
  oracle::Matrix stored_v = v;
  for (oracle::Matrix* stored : {&stored_k, &stored_v})
    for (double& x : stored->data)
      x += random.uniform(-1, 1) * (error.relative * std::abs(x) + error.absolute);
  const oracle::AttendShape shape{1, 1, 32, 39, 0};
  const auto reference = oracle::attend(q, k, v, shape);
  const auto stored = oracle::attend(q, stored_k, stored_v, shape);
  CHECK_THAT(stored.data,
             AllClose(reference.data, attention_bound(q, k, v, shape, error, error).data));
  CHECK_THAT(stored.data, !AllClose(reference.data, attention_bound(q, k, v, shape).data));
}

}  // namespace
}  // namespace kvmeter::test

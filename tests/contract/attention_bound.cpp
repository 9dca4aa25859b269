// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/attention_bound.hpp"

#include <algorithm>
#include <cmath>

#include "tests/support/all_close.hpp"

namespace kvmeter::test {
namespace {

constexpr double u = 0x1p-24;

struct ScoreSizes {
  double largest = 0;  // A
  double storage = 0;  // largest error of a score by K's storage
  double n_keys = 0;   // seen
};

ScoreSizes score_sizes(std::span<const double> q, const oracle::Matrix& k, std::int64_t kv_head,
                       std::int64_t position, const oracle::AttendShape& shape,
                       const StorageError& error) {
  const auto d = static_cast<std::int64_t>(q.size());
  ScoreSizes sizes;
  for (std::int64_t key = 0; key < k.rows; ++key) {
    if (!oracle::sees(position, key, shape.window, shape.sinks)) continue;
    const auto k_row = k.part(key, kv_head * d, d);
    double products = 0;
    double storage = 0;
    for (std::size_t c = 0; c < q.size(); ++c) {
      products += std::abs(q[c] * k_row[c]);
      storage += std::abs(q[c]) * (error.relative * std::abs(k_row[c]) + error.absolute);
    }
    const double root = std::sqrt(static_cast<double>(d));
    sizes.largest = std::max(sizes.largest, products / root);
    sizes.storage = std::max(sizes.storage, storage / root);
    sizes.n_keys += 1;
  }
  return sizes;
}

/// r of the header: relative error of numerator and denominator.
double relative_error(const ScoreSizes& sizes, double head_dim) {
  const double score_error = (head_dim + 3) * u * sizes.largest + sizes.storage;
  const double weight_error = std::expm1(2 * score_error + 4 * u * sizes.largest);
  return weight_error + (6 * sizes.n_keys + 10) * u;
}

oracle::Matrix magnitudes(oracle::Matrix x) {
  for (double& value : x.data) value = std::abs(value);
  return x;
}

}  // namespace

oracle::Matrix attention_bound(const oracle::Matrix& q, const oracle::Matrix& k,
                               const oracle::Matrix& v, const oracle::AttendShape& shape,
                               const StorageError& k_error, const StorageError& v_error) {
  oracle::Matrix bound = oracle::attend(q, k, magnitudes(v), shape);
  const double dropped = static_cast<double>(k.rows) * std::exp(-87.0) * max_abs(v.data);
  const std::int64_t group = shape.n_heads / shape.n_kv_heads;
  for (std::int64_t i = 0; i < q.rows; ++i)
    for (std::int64_t head = 0; head < shape.n_heads; ++head) {
      const std::int64_t first = head * shape.head_dim;
      const ScoreSizes sizes = score_sizes(q.part(i, first, shape.head_dim), k, head / group,
                                           shape.first_position + i, shape, k_error);
      const double r = relative_error(sizes, static_cast<double>(shape.head_dim));
      for (double& value : bound.part(i, first, shape.head_dim))
        value = 1.01 * ((2 * r / (1 - r) + v_error.relative) * value + v_error.absolute) + dropped;
    }
  return bound;
}

}  // namespace kvmeter::test

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/attend.hpp"

#include <cmath>
#include <stdexcept>

#include "tests/oracle/functions.hpp"

namespace kvmeter::oracle {
namespace {

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void require_shape(const Matrix& q, const Matrix& k, const Matrix& v, const AttendShape& shape) {
  if (shape.n_heads % shape.n_kv_heads != 0 || q.cols != shape.n_heads * shape.head_dim ||
      k.cols != shape.n_kv_heads * shape.head_dim || v.cols != k.cols || v.rows != k.rows)
    throw std::invalid_argument("oracle: shapes of attention do not fit together");
}

/// One head of one query row, written to `out`.
void attend_head(std::span<const double> q, const Matrix& k, const Matrix& v, std::int64_t kv_head,
                 std::int64_t position, const AttendShape& shape, std::span<double> out) {
  const auto dim = static_cast<std::int64_t>(q.size());
  Vector scores;
  std::vector<std::int64_t> seen;
  for (std::int64_t key = 0; key < k.rows; ++key) {
    if (!sees(position, key, shape.window, shape.sinks)) continue;
    const auto k_row = k.part(key, kv_head * dim, dim);
    scores.push_back(dot(q, k_row) / std::sqrt(static_cast<double>(dim)));
    seen.push_back(key);
  }
  const Vector weights = softmax(scores);
  for (std::size_t n = 0; n < seen.size(); ++n) {
    const auto v_row = v.part(seen[n], kv_head * dim, dim);
    for (std::size_t d = 0; d < out.size(); ++d) out[d] += weights[n] * v_row[d];
  }
}

}  // namespace

bool sees(std::int64_t position, std::int64_t key, std::int64_t window, std::int64_t sinks) {
  return key <= position && (window == 0 || position - key < window || key < sinks);
}

Matrix attend(const Matrix& q, const Matrix& k, const Matrix& v, const AttendShape& shape) {
  require_shape(q, k, v, shape);
  const std::int64_t group = shape.n_heads / shape.n_kv_heads;
  Matrix out(q.rows, q.cols);
  for (std::int64_t i = 0; i < q.rows; ++i)
    for (std::int64_t head = 0; head < shape.n_heads; ++head) {
      const std::int64_t first = head * shape.head_dim;
      attend_head(q.part(i, first, shape.head_dim), k, v, head / group, shape.first_position + i,
                  shape, out.part(i, first, shape.head_dim));
    }
  return out;
}

}  // namespace kvmeter::oracle

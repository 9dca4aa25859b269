// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/sequence_rows.hpp"

#include <stdexcept>

#include "tests/contract/attention_bound.hpp"
#include "tests/oracle/rounding.hpp"
#include "tests/support/all_close.hpp"

namespace kvmeter::test {
namespace {

oracle::Matrix random_matrix(Random& random, std::int64_t rows, std::int64_t cols, double size) {
  const auto values = random.normal(rows * cols, size);
  return {rows, cols, {values.begin(), values.end()}};
}

/// Rounds each head of each row as the oracle knows it, or else leaves the rows and returns what
/// the codec declares.
StorageError store(oracle::Matrix& rows, const CodecFacts& codec, std::int64_t head_dim) {
  oracle::Rounding round;
  try {
    round = oracle::rounding_of(codec.name);
  } catch (const std::invalid_argument&) {
    return {codec.relative_error, codec.absolute_error + codec.largest_error * max_abs(rows.data)};
  }
  for (std::int64_t i = 0; i < rows.rows; ++i)
    for (std::int64_t first = 0; first < rows.cols; first += head_dim)
      round(rows.part(i, first, head_dim));
  return {};
}

}  // namespace

SequenceRows random_rows(Random& random, const CacheSpec& spec, std::int64_t n_tokens,
                         double q_size) {
  SequenceRows rows;
  for (std::int64_t layer = 0; layer < spec.n_layers; ++layer)
    rows.push_back({random_matrix(random, n_tokens, spec.n_heads * spec.head_dim, q_size),
                    random_matrix(random, n_tokens, spec.n_kv_heads * spec.head_dim, 1),
                    random_matrix(random, n_tokens, spec.n_kv_heads * spec.head_dim, 1)});
  return rows;
}

oracle::Matrix rows_of(const oracle::Matrix& matrix, std::int64_t first, std::int64_t n) {
  const auto part = matrix.part(first, 0, n * matrix.cols);
  return {n, matrix.cols, {part.begin(), part.end()}};
}

Reference reference_of(const Combination& combination, const CacheSpec& spec, const LayerRows& rows,
                       std::int64_t n_stored, std::int64_t n_tokens, std::int64_t layer) {
  const std::int64_t first = n_stored - n_tokens;
  const oracle::Matrix q = rows_of(rows.q, first, n_tokens);
  oracle::Matrix k = rows_of(rows.k, 0, n_stored);
  oracle::Matrix v = rows_of(rows.v, 0, n_stored);
  const StorageError k_error = store(k, combination.k, spec.head_dim);
  const StorageError v_error = store(v, combination.v, spec.head_dim);
  const std::int64_t window =
      spec.windows.empty() ? 0 : spec.windows.at(static_cast<std::size_t>(layer));
  const oracle::AttendShape shape{spec.n_heads, spec.n_kv_heads, spec.head_dim,
                                  first,        window,          spec.sink_tokens};
  return {oracle::attend(q, k, v, shape), attention_bound(q, k, v, shape, k_error, v_error)};
}

}  // namespace kvmeter::test

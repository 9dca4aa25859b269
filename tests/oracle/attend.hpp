// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Grouped causal attention of one sequence.
#pragma once

#include "tests/oracle/tensor.hpp"

namespace kvmeter::oracle {

struct AttendShape {
  std::int64_t n_heads = 1;
  std::int64_t n_kv_heads = 1;  // query head h reads KV head h / (n_heads / n_kv_heads)
  std::int64_t head_dim = 1;
  std::int64_t first_position = 0;  // of query row 0; the keys begin at position 0
  std::int64_t window = 0;          // keys that a query sees, its own included; 0: all before it
  std::int64_t sinks = 0;           // first keys that a window sees besides
};

/// Does the query at `position` see the key at position `key`?
bool sees(std::int64_t position, std::int64_t key, std::int64_t window, std::int64_t sinks = 0);

/// For each query row and head: softmax over the keys it sees of q . k / sqrt(head_dim), times v.
/// A query that sees no key gives zeros.
/// \param q [n_q, n_heads * head_dim]
/// \param k, v [n_keys, n_kv_heads * head_dim]
/// \return [n_q, n_heads * head_dim]
Matrix attend(const Matrix& q, const Matrix& k, const Matrix& v, const AttendShape& shape);

}  // namespace kvmeter::oracle

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What one row of logits says of the next token beside another row: likelihood, divergence, choice.
#pragma once

#include <cstdint>

#include "harness/exec/views.hpp"

namespace kvmeter::ops {

/// Of one row, in double. A NaN among the logits of either side makes `kl` and `same_top` NaN, and
/// the likelihood of its side.
struct RowComparison {
  double nll_reference;  // -log p(next token), nats
  double nll;            // -log q(next token), nats
  double kl;             // KL(p || q), nats, never negative: sums round to -1e-13 or so, which is 0
  double same_top;       // 1 where p and q have the same most likely token (the lowest id), else 0
};

template <class MemorySpace>
struct LogitComparison {
  ConstArray2<float, MemorySpace> reference;        // [n_rows, vocab_size]
  ConstArray2<float, MemorySpace> other;            // [n_rows, vocab_size]
  ConstArray1<std::int32_t, MemorySpace> next_ids;  // [n_rows] token that follows, checked by none
  Array1<RowComparison, MemorySpace> out;           // [n_rows]
};

/// With p = softmax(reference[r]) and q = softmax(other[r]):
///   out[r] = {-log p[next_ids[r]], -log q[next_ids[r]], sum_i p[i] log(p[i] / q[i]),
///             argmax p == argmax q}
/// Exponentials and sums are double, each in one order, the same for both sides: equal rows have a
/// divergence of exactly 0. An id with p = 0 adds nothing.
template <class Exec>
void compare_logits(const Exec& exec,
                    const LogitComparison<typename Exec::memory_space>& arguments);

}  // namespace kvmeter::ops

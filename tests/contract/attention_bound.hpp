// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// How far float attention may be from the oracle's.
#pragma once

#include "tests/oracle/attend.hpp"

namespace kvmeter::test {

/// What storing a row may do to its elements, beyond what the reference already has:
/// |stored - x| <= relative |x| + absolute.
struct StorageError {
  double relative = 0;
  double absolute = 0;
};

/// A bound for each element of oracle::attend(q, k, v, shape) on attention that computes in float,
/// in any order of summation, with any number of rescalings of a running sum.
///
/// With u = 2^-24, d = head_dim, n keys seen, and for one query the keys' scores s_j, let
/// A = max_j sum_c |q_c k_jc| / sqrt(d) >= max |s_j|.
/// 1. A score has d products and d - 1 sums, and q carries its scaling by a rounded 1/sqrt(d): 2
///    roundings. Its error is at most (d + 3) u A. Storage adds sum_c |q_c| (rel |k_jc| + abs) /
///    sqrt(d).
/// 2. s_j - max is rounded: at most 2 u A. So a weight exp(s_j - max) carries a relative error of
///    e = exp(errors of 1 and 2, of s_j and of the max) - 1, and 2e-7 < 4 u of exp itself.
/// 3. A running maximum multiplies by exp(old max - new max) at most n times: 4 u each for exp, 1
/// for
///    the product, and in all 2 u A for the differences, which add up to at most 2 A.
/// 4. Sums over n keys in any order: n u. The last division: 2 u.
/// So numerator and denominator are each within r = e + (6 n + 6) u of theirs, and the output
/// within 2 r sum_j w_j |v_jc| (V's storage error apart), to first order; 1 % is added for the
/// rest. Weights below exp(-87) may be left out: n exp(-87) max |v|.
oracle::Matrix attention_bound(const oracle::Matrix& q, const oracle::Matrix& k,
                               const oracle::Matrix& v, const oracle::AttendShape& shape,
                               const StorageError& k_error = {}, const StorageError& v_error = {});

}  // namespace kvmeter::test

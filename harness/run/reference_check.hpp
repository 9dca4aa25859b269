// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Correctness before speed: the first steps of a point beside the same decoder with the reference
// cache (contiguous, f32, two_pass), which tests hold to an oracle of its own.
#pragma once

#include "harness/run/session.hpp"

namespace kvmeter::run {

/// Of the largest logit: what f32 sums in another order may make, here and between implementations.
inline constexpr double summation_tolerance = 2e-4;

/// Of the largest logit: where a wrong result begins, which is off by about the whole.
inline constexpr double wrong_result = 0.5;

struct Verdict {
  double difference = 0;  // worst |logit - reference|, over the largest |reference|
  double bound = 0;
  [[nodiscard]] bool passed() const { return difference <= bound; }  // NaN does not pass
};

/// Compares a prefill and a few decode steps of up to two of the prompts. Leaves the session's
/// cache empty.
///
/// The bound is measured, not guessed: the reference runs again with the point's codecs, and its
/// distance d to the f32 one is what their rounding does to this model and these prompts. A correct
/// cache is within d, and what float sums in another order make, of that second reference:
/// |got - f32| <= (2e-4 + d) + d. Where rounding itself moves logits far, as int4 does in small
/// models, that tells little: the contract tests hold such caches to their codecs.
template <class Exec>
Verdict compare_with_reference(Session<Exec>& session, const Setup& setup,
                               const std::vector<std::vector<std::int32_t>>& prompts);

}  // namespace kvmeter::run

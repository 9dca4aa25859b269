// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Correctness before speed: the first steps of a point beside the same decoder with the reference
// cache (contiguous, f32, two_pass), which tests hold to an oracle of its own.
#pragma once

#include "harness/run/session.hpp"

namespace kvmeter::run {

struct Verdict {
  double difference = 0;  // worst |logit - reference|, over the largest |reference|
  double bound = 0;
  [[nodiscard]] bool passed() const { return difference <= bound; }  // NaN does not pass
};

/// What rounding of the cache's elements may do to logits, relative to the largest; and that of
/// activations, where one side rounds them and the other does not. See the derivation beside the
/// definition.
double logit_bound(const Setup& setup, bool rounds_activations);

/// Compares a prefill and a few decode steps of up to two of the prompts. Leaves the session's
/// cache empty.
template <class Exec>
Verdict compare_with_reference(Session<Exec>& session, const Setup& setup,
                               const std::vector<std::vector<std::int32_t>>& prompts);

}  // namespace kvmeter::run

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Choosing the next token of each sequence from its logits.
#pragma once

#include <cstdint>

#include "harness/exec/views.hpp"

namespace kvmeter::ops {

struct SamplingParameters {
  bool greedy = true;
  float temperature = 1;
  std::int32_t top_k = 0;  // 0: off; equals of the k-th stay in
  double top_p = 1;        // 1: off; the least set of most likely tokens with this mass
  std::uint64_t seed = 1;
};

template <class MemorySpace>
struct SamplingArguments {
  Array2<float, MemorySpace> logits;   // [n_sequences, vocab_size]
  Array2<float, MemorySpace> weights;  // the same extents, working memory; not needed when greedy
  ConstArray1<std::int32_t, MemorySpace>
      slots;  // [n_sequences] which sequence, for its random numbers
  ConstArray1<std::int32_t, MemorySpace> positions;  // [n_sequences] of the token before, likewise
  Array1<std::int32_t, MemorySpace> ids;             // [n_sequences] result
};

/// greedy: ids[s] = the lowest id with the highest logit. Otherwise a draw from
/// softmax(logits / temperature) restricted by top_k, then top_p. The random number depends on
/// seed, slot and position alone. A. Holtzman et al., "The curious case of neural text
/// degeneration", 2020.
template <class Exec>
void sample(const Exec& exec, const SamplingParameters& parameters,
            const SamplingArguments<typename Exec::memory_space>& arguments);

}  // namespace kvmeter::ops

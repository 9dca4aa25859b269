// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What one step computes, as plain data: which sequence, which positions, which tokens. Built on
// the host by whoever drives the decoder, uploaded once per step.
#pragma once

#include <cstdint>
#include <vector>

namespace kvmeter {

/// The tokens of one sequence in a step.
struct StepSequence {
  std::int32_t slot = 0;            // which sequence of the cache, below the batch it was built for
  std::int32_t first_position = 0;  // of the step's first token; tokens before it are in the cache
  std::int32_t n_tokens = 0;        // at least 1
};

struct StepPlan {
  std::vector<StepSequence> sequences;
  std::vector<std::int32_t> tokens;  // [n_rows] token ids, sequence after sequence

  /// Tokens of the step. Costs ask for no more: for them `tokens` may be empty; a decoder refuses
  /// that.
  [[nodiscard]] std::int64_t n_rows() const {
    std::int64_t n = 0;
    for (const StepSequence& s : sequences) n += s.n_tokens;
    return n;
  }

  /// Appends a sequence's part. What it may be is checked where the cache makes room for it.
  template <class Tokens>
  void add(std::int32_t slot, std::int32_t first_position, const Tokens& ids) {
    sequences.push_back({slot, first_position, static_cast<std::int32_t>(ids.size())});
    tokens.insert(tokens.end(), ids.begin(), ids.end());
  }
  void clear() {
    sequences.clear();
    tokens.clear();
  }
  /// Positions attended to by the last token of the longest sequence.
  [[nodiscard]] std::int32_t max_context() const {
    std::int32_t longest = 0;
    for (const StepSequence& s : sequences) {
      const std::int32_t end = s.first_position + s.n_tokens;
      longest = end > longest ? end : longest;
    }
    return longest;
  }
};

}  // namespace kvmeter

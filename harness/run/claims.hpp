// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Statements about caches that every point puts to the test on its own cache, outside timed steps.
#pragma once

#include <vector>

#include "harness/core/record.hpp"
#include "harness/run/session.hpp"

namespace kvmeter::run {

/// Rows written never change when tokens are appended: hashes of what is stored of every token and
/// KV head, K and V together, taken once and again.
template <class Exec>
class RowHashes {
 public:
  /// Of the first n_tokens of each sequence, in all layers; of fewer tokens where that would be
  /// more than most_rows.
  RowHashes(const Exec& exec, const KvCache<Exec>& cache, const Setup& setup);

  /// Those whose bytes are others now.
  [[nodiscard]] std::int64_t n_changed(const Exec& exec, const KvCache<Exec>& cache) const;
  [[nodiscard]] std::int64_t n_rows() const;

 private:
  static constexpr std::int64_t most_rows = 1 << 22;

  std::int64_t m_n_layers;
  std::int64_t m_batch;
  std::int64_t m_n_kv_heads;
  std::int64_t m_n_tokens;
  Array2<std::uint64_t, typename Exec::memory_space> m_hashes;  // [n_layers, rows of a layer]
};

/// Longer prompts would cost more than they show.
inline constexpr std::int64_t most_claim_tokens = 512;

/// Is there a prefill in steps of more than one token, of a cache that keeps them?
bool can_decode_differ(const Setup& setup);

/// Tokens of the steps that take in n >= 2: of `chunk` at most, the last of two at least.
std::vector<std::int64_t> prefill_steps(std::int64_t n, std::int64_t chunk);

/// The same tokens, the last of them by itself.
std::vector<std::int64_t> decode_steps(std::int64_t n, std::int64_t chunk);

/// prefill(n) then decode(1) gives the logits of prefill(n + 1): the worst difference over the
/// largest logit, for all but the last token of the first prompt; NaN where a logit is no number.
/// The session's cache must be empty and is left so. \pre can_decode_differ()
template <class Exec>
double decode_difference(Session<Exec>& session, const Setup& setup,
                         const std::vector<std::int32_t>& prompt);

/// "kvmeter::cache::k 1048576", ...: what is alive by label, one a line, in order.
std::string live_labels();

}  // namespace kvmeter::run

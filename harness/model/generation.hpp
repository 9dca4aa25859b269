// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Generation of a batch: prefill, then one token per sequence per step, whole batch in every step.
// Each call is one step from token ids to token ids; whoever measures puts a clock around it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "harness/model/decoder.hpp"
#include "harness/ops/sampling.hpp"

namespace kvmeter {

struct GenerationSpec {
  std::int64_t max_tokens = 0;  // prompt and generated together, per sequence
  std::int64_t batch = 1;
  std::int64_t max_new_tokens = 1;
  std::int64_t max_prompt_tokens = 1;
  bool keeps_past = true;  // of the cache
  bool ignore_eos = true;
  ops::SamplingParameters sampling;
};

/// Limits of the steps that such a generation takes.
StepLimits step_limits(const GenerationSpec& spec, std::int32_t tile_queries);

template <class Exec>
class Generation {
 public:
  Generation(const Exec& exec, const GenerationSpec& spec, Decoder<Exec>& decoder,
             KvCache<Exec>& cache);

  /// Starts over with these prompts: [batch] of at least one token each. Forgets what the cache
  /// holds.
  void start(std::vector<std::vector<std::int32_t>> prompts);

  /// The first token of every sequence, from all prompt positions in one step. start() must have
  /// been called.
  void prefill();

  /// One more token for every sequence that goes on. Returns at once when none does.
  void decode();

  /// Has every sequence met its end-of-sequence token or max_new_tokens?
  [[nodiscard]] bool finished() const;

  /// [batch] prompt and generated tokens.
  [[nodiscard]] const std::vector<std::vector<std::int32_t>>& sequences() const {
    return m_sequences;
  }
  /// Tokens that the latest step took in, and that it gave.
  [[nodiscard]] const StepPlan& plan() const { return m_plan; }
  /// Logits that the latest tokens were chosen from. [sequences of the step, vocab_size]
  [[nodiscard]] const Array2<float, typename Exec::memory_space>& logits() const {
    return m_logits;
  }
  [[nodiscard]] const Decoder<Exec>& decoder() const { return m_decoder; }

 private:
  void step();
  [[nodiscard]] bool goes_on(std::size_t sequence) const;

  Exec m_exec;
  GenerationSpec m_spec;
  Decoder<Exec>& m_decoder;
  KvCache<Exec>& m_cache;
  StepPlan m_plan;
  std::vector<std::vector<std::int32_t>> m_sequences;
  std::vector<std::size_t> m_prompt_tokens;  // [batch]
  Array2<float, typename Exec::memory_space> m_logits;
  Array2<float, typename Exec::memory_space> m_weights;  // [batch, vocab_size] for sampling
  Array1<std::int32_t, typename Exec::memory_space>
      m_draws;  // [2, batch] slot and position of each draw
  Array1<std::int32_t, typename Exec::memory_space> m_ids;  // [batch]
  HostArray1<std::int32_t> m_host_draws;
  HostArray1<std::int32_t> m_host_ids;
};

}  // namespace kvmeter

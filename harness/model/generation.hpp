// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Generation of a batch: prefill, in one step or in chunks, then one token per sequence per step,
// whole batch in every step. Whoever measures puts a clock around each call.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/model/decoder.hpp"
#include "harness/model/made_up_rows.hpp"
#include "harness/model/token_choice.hpp"

namespace kvmeter {

struct GenerationSpec {
  std::int64_t max_tokens = 0;  // that are fed to the decoder, per sequence
  std::int64_t batch = 1;
  std::int64_t max_new_tokens = 1;
  std::int64_t max_prompt_tokens = 1;
  std::int64_t prefill_chunk = 0;         // prompt tokens of a sequence per step; 0: all
  std::int64_t shared_prefix_tokens = 0;  // first tokens that all prompts have in common
  bool synthetic_prefill = false;         // the cache is filled with made-up rows
  bool keeps_past = true;                 // of the cache
  bool ignore_eos = true;
  ops::SamplingParameters sampling;
};

/// Prompt tokens of each sequence that a check before the generation may take in at once.
inline constexpr std::int64_t most_checked_tokens = 24;

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

  /// The first token of every sequence, from all prompt positions; without max_new_tokens only
  /// fills the cache. A shared prefix is computed once, for the first sequence, and forked. A
  /// synthetic prefill computes nothing: K and V rows are made up, and so is the token. start()
  /// must have been called.
  void prefill();

  /// One more token for every sequence that goes on. Returns at once when none does.
  void decode();

  /// Has every sequence met its end-of-sequence token or max_new_tokens?
  [[nodiscard]] bool finished() const;

  /// [batch] prompt and generated tokens.
  [[nodiscard]] const std::vector<std::vector<std::int32_t>>& sequences() const {
    return m_sequences;
  }
  /// The latest step.
  [[nodiscard]] const StepPlan& plan() const { return m_plan; }
  /// Tokens that the latest call took in, over all of its steps.
  [[nodiscard]] std::int64_t tokens_taken_in() const { return m_taken_in; }
  /// Logits that the latest tokens were chosen from. [sequences of the step, vocab_size]
  [[nodiscard]] const Array2<float, typename Exec::memory_space>& logits() const {
    return m_logits;
  }
  [[nodiscard]] const Decoder<Exec>& decoder() const { return m_decoder; }

 private:
  void step();
  void sample();
  void take_in(std::size_t n_sequences, std::int64_t from, std::int64_t to);
  [[nodiscard]] bool ends(const StepSequence& part) const;
  [[nodiscard]] bool goes_on(std::size_t sequence) const;

  Exec m_exec;
  GenerationSpec m_spec;
  Decoder<Exec>& m_decoder;
  KvCache<Exec>& m_cache;
  StepPlan m_plan;
  std::vector<std::vector<std::int32_t>> m_sequences;
  std::vector<std::size_t> m_prompt_tokens;  // [batch]
  Array2<float, typename Exec::memory_space> m_logits;
  std::int64_t m_taken_in = 0;
  TokenChoice<Exec> m_choice;
  std::optional<MadeUpRows<Exec>> m_made_up;  // where the prefill is synthetic
};

}  // namespace kvmeter

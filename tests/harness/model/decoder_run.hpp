// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// One decoder with one cache, driven step by step, with logits on the host.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "harness/model/decoder.hpp"
#include "harness/model/generation.hpp"
#include "tests/contract/all_variants.hpp"
#include "tests/support/backends.hpp"

namespace kvmeter::test {

using Ids = std::vector<std::int64_t>;

inline std::vector<std::int32_t> narrow(std::span<const std::int64_t> ids) {
  return {ids.begin(), ids.end()};
}

inline CacheSpec cache_spec(const ModelConfig& config, std::int64_t batch,
                            std::int64_t max_tokens) {
  return {.n_layers = config.n_layers,
          .n_heads = config.n_heads,
          .n_kv_heads = config.n_kv_heads,
          .head_dim = config.head_dim,
          .batch = batch,
          .max_tokens = max_tokens,
          .windows = config.windows,
          .fill = std::byte{0xff}};
}

template <class Exec>
class DecoderRun {
 public:
  using Weights = ModelWeights<typename Exec::memory_space>;

  /// Sequences of up to max_tokens, any number of them in a step.
  DecoderRun(const Exec& exec, const ModelConfig& config, const Weights& weights,
             const Combination& combination, std::int64_t batch, std::int64_t max_tokens)
      : DecoderRun(exec, config, weights, combination, cache_spec(config, batch, max_tokens)) {}
  DecoderRun(const Exec& exec, const ModelConfig& config, const Weights& weights,
             const Combination& combination, const CacheSpec& spec)
      : exec_(exec),
        cache_(make_cache(exec, combination.recipe(), spec)),
        decoder_(exec, config, weights,
                 {spec.batch * spec.max_tokens, spec.batch, spec.max_tokens,
                  spec.batch * spec.max_tokens, cache_->tile_queries()},
                 weights.embedding.element),
        sequences_(static_cast<std::size_t>(spec.batch)) {}

  /// Takes more tokens of some sequences in one step. \return logits of these tokens [n, vocab],
  /// one part after the other
  using Part = std::pair<std::int32_t, Ids>;  // slot, ids
  std::vector<double> step(const std::vector<Part>& parts) {
    StepPlan plan;
    for (const auto& [slot, ids] : parts) {
      auto& all = sequences_.at(static_cast<std::size_t>(slot));
      const std::size_t held = cache_->keeps_past() ? all.size() : 0;
      all.insert(all.end(), ids.begin(), ids.end());
      plan.add(slot, static_cast<std::int32_t>(held), std::span(all).subspan(held));
    }
    decoder_.step(exec_, plan, *cache_);
    std::vector<double> logits;
    std::int64_t end = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      end += plan.sequences[i].n_tokens;
      const auto n = std::ssize(parts[i].second);
      const auto values = to_host(exec_, decoder_.logits(exec_, end - n, n));
      logits.insert(logits.end(), values.begin(), values.end());
    }
    return logits;
  }

  /// Logits of the last token of each sequence of the latest step. [sequences, vocab]
  std::vector<float> last_logits() { return to_host(exec_, decoder_.last_logits(exec_)); }

  void forget(std::int32_t slot) {
    cache_->truncate(slot, 0);
    sequences_.at(static_cast<std::size_t>(slot)).clear();
  }

  Decoder<Exec>& decoder() { return decoder_; }
  KvCache<Exec>& cache() { return *cache_; }

 private:
  Exec exec_;
  std::unique_ptr<KvCache<Exec>> cache_;
  Decoder<Exec> decoder_;
  std::vector<std::vector<std::int32_t>> sequences_;
};

/// Greedy continuation of prompts, all in one batch, by Generation. \return generated ids
template <class Exec>
std::vector<std::vector<std::int32_t>> generate(
    const Exec& exec, const ModelConfig& config,
    const ModelWeights<typename Exec::memory_space>& weights, const Combination& combination,
    const std::vector<std::vector<std::int32_t>>& prompts, std::int64_t n_new) {
  GenerationSpec spec;
  spec.batch = std::ssize(prompts);
  for (const auto& prompt : prompts)
    spec.max_prompt_tokens = std::max<std::int64_t>(spec.max_prompt_tokens, std::ssize(prompt));
  spec.max_tokens = spec.max_prompt_tokens + n_new;
  spec.max_new_tokens = n_new;
  const auto cache =
      make_cache(exec, combination.recipe(), cache_spec(config, spec.batch, spec.max_tokens));
  spec.keeps_past = cache->keeps_past();
  Decoder<Exec> decoder(exec, config, weights, step_limits(spec, cache->tile_queries()),
                        weights.embedding.element);
  Generation<Exec> generation(exec, spec, decoder, *cache);
  generation.start(prompts);
  generation.prefill();
  while (!generation.finished()) generation.decode();
  std::vector<std::vector<std::int32_t>> generated;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const auto& all = generation.sequences()[i];
    generated.emplace_back(all.begin() + std::ssize(prompts[i]), all.end());
  }
  return generated;
}

}  // namespace kvmeter::test

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/reference_check.hpp"

#include "harness/run/cache_setup.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace kvmeter::run {
namespace {

constexpr std::int64_t most_prefill_steps = 4;
constexpr std::int64_t most_decode_steps = 3;
constexpr std::int64_t most_sequences = 2;

/// Steps of a comparison: a prefill of the prompts' first tokens, in chunks as the point takes
/// them, then single tokens. With `keeps_past` false each step brings whole sequences, to any
/// cache.
struct Steps {
  std::vector<std::vector<std::int32_t>> prompts;
  std::int64_t prompt_tokens = 0;
  std::int64_t chunk = 1;
  std::int64_t n_decode = 0;
  bool keeps_past = true;

  [[nodiscard]] std::int64_t n_prefill() const { return (prompt_tokens + chunk - 1) / chunk; }
  [[nodiscard]] std::int64_t n_steps() const { return n_prefill() + n_decode; }

  /// Tokens that a sequence has after so many steps.
  [[nodiscard]] std::int64_t tokens_after(std::int64_t steps) const {
    return std::min(steps * chunk, prompt_tokens) + std::max<std::int64_t>(steps - n_prefill(), 0);
  }

  [[nodiscard]] StepPlan plan(std::int64_t step) const {
    const std::int64_t end = tokens_after(step + 1);
    const std::int64_t first = keeps_past ? tokens_after(step) : 0;
    StepPlan plan;
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      std::vector<std::int32_t> tokens;
      for (std::int64_t t = first; t < end; ++t)
        tokens.push_back(prompts[i][static_cast<std::size_t>(t) % prompts[i].size()]);
      plan.add(static_cast<std::int32_t>(i), static_cast<std::int32_t>(first), tokens);
    }
    return plan;
  }
};

Steps first_steps(const Setup& s, const std::vector<std::vector<std::int32_t>>& prompts) {
  Steps steps;
  steps.prompts.assign(prompts.begin(), prompts.begin() + std::min<std::ptrdiff_t>(
                                                              std::ssize(prompts), most_sequences));
  steps.chunk = std::min(s.cache.max_step_tokens, most_checked_tokens);
  steps.prompt_tokens =
      std::min({s.point.prompt_tokens, most_checked_tokens, most_prefill_steps * steps.chunk});
  steps.n_decode =
      std::clamp<std::int64_t>(s.max_tokens() - steps.prompt_tokens, 0, most_decode_steps);
  steps.keeps_past = s.generation.keeps_past;
  return steps;
}

/// Logits after each step. [steps][sequence x vocab]
template <class Exec>
std::vector<HostArray2<float>> logits_of(const Exec& exec, Decoder<Exec>& decoder,
                                         KvCache<Exec>& cache, const Steps& steps) {
  std::vector<HostArray2<float>> results;
  for (std::int64_t step = 0; step < steps.n_steps(); ++step) {
    if (!steps.keeps_past) cache.clear();
    decoder.step(exec, steps.plan(step), cache);
    const auto logits = decoder.last_logits(exec);
    results.push_back(Kokkos::create_mirror(Kokkos::HostSpace{}, logits));
    Kokkos::deep_copy(exec, results.back(), logits);
    exec.fence("kvmeter::run::reference_check: the host reads logits");
  }
  cache.clear();
  return results;
}

double worst_difference(const std::vector<HostArray2<float>>& got,
                        const std::vector<HostArray2<float>>& reference) {
  double worst = 0;
  double largest = 0;
  for (std::size_t step = 0; step < reference.size(); ++step) {
    for (std::size_t i = 0; i < reference[step].size(); ++i) {
      const double expected = reference[step].data()[i];
      const double difference = std::abs(got[step].data()[i] - expected);
      if (!std::isfinite(difference)) return std::numeric_limits<double>::quiet_NaN();
      worst = std::max(worst, difference);
      largest = std::max(largest, std::abs(expected));
    }
  }
  return largest > 0 ? worst / largest : worst;
}

}  // namespace

template <class Exec>
Verdict compare_with_reference(Session<Exec>& session, const Setup& s,
                               const std::vector<std::vector<std::int32_t>>& prompts) {
  const Steps steps = first_steps(s, prompts);
  const auto reference = [&](CodecId k, CodecId v) {
    const CacheRecipe recipe{PlacementId::Contiguous, k, v, AttentionId::two_pass};
    CacheSpec spec =
        cache_spec(s.config, std::ssize(steps.prompts), steps.tokens_after(steps.n_steps()));
    spec.windows = s.cache.windows;
    spec.sink_tokens = s.cache.sink_tokens;
    const auto cache = make_cache(session.exec, recipe, spec);
    session.set_scales(*cache);
    return logits_of(session.exec, *session.decoder, *cache, steps);
  };
  const auto expected = reference(CodecId::f32, CodecId::f32);
  const auto got = logits_of(session.exec, *session.decoder, *session.cache, steps);
  const double rounding = worst_difference(reference(s.recipe.k_codec, s.recipe.v_codec), expected);
  return {worst_difference(got, expected), summation_tolerance + 2 * rounding};
}

#define KVMETER_INSTANTIATE(Exec)                                             \
  template Verdict compare_with_reference<Exec>(Session<Exec>&, const Setup&, \
                                                const std::vector<std::vector<std::int32_t>>&);
KVMETER_FOR_EACH_EXEC(KVMETER_INSTANTIATE)
#undef KVMETER_INSTANTIATE

}  // namespace kvmeter::run

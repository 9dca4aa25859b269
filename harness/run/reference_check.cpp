// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/reference_check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "variants/codec/codecs.hpp"

namespace kvmeter::run {
namespace {

constexpr std::int64_t most_prompt_tokens = 24;
constexpr std::int64_t most_decode_steps = 3;
constexpr std::int64_t most_sequences = 2;

double relative_error(CodecId codec) {
  double error = 0;
  visit_codec(codec, [&](auto c) { error = decltype(c)::relative_error; });
  return error;
}

/// Logits of a prefill of prompt[0 .. n) and of steps that feed the next tokens of the prompts.
/// [steps][sequence x vocab]
template <class Exec>
std::vector<HostArray2<float>> run_steps(const Exec& exec, Decoder<Exec>& decoder,
                                         KvCache<Exec>& cache,
                                         const std::vector<std::vector<std::int32_t>>& prompts,
                                         std::int64_t prompt_tokens, std::int64_t n_steps) {
  std::vector<HostArray2<float>> results;
  for (std::int64_t step = 0; step < n_steps; ++step) {
    const std::int64_t end = prompt_tokens + step;
    const std::int64_t first = step == 0 || !cache.keeps_past() ? 0 : end - 1;
    StepPlan plan;
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      std::vector<std::int32_t> tokens;
      for (std::int64_t t = first; t < end; ++t)
        tokens.push_back(prompts[i][static_cast<std::size_t>(t) % prompts[i].size()]);
      plan.add(static_cast<std::int32_t>(i), static_cast<std::int32_t>(first), tokens);
    }
    decoder.step(exec, plan, cache);
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

/// f32 sums in another order: 2e-4 of the largest logit, as for the oracle cases. A cache element
/// rounds K and V by up to relative_error, so the scores of a layer, of magnitude s, are off by s x
/// that, and so are its probabilities; s = 8 is where a softmax is all but saturated. The layers'
/// roundings are independent and add up as sqrt(n_layers), and the worst of all logits lies some 4
/// standard deviations out: 8 x 4 = 32. Activations that are rounded to the weights' element err
/// likewise. Half the largest logit is where a wrong result, which is off by about the whole,
/// begins.
double logit_bound(const Setup& s, bool rounds_activations) {
  const double layers = std::sqrt(static_cast<double>(s.config.n_layers));
  double epsilon = std::max(relative_error(s.recipe.k_codec), relative_error(s.recipe.v_codec));
  if (rounds_activations)
    epsilon =
        std::max(epsilon, relative_error(s.element == Element::f16 ? CodecId::f16 : CodecId::bf16));
  return std::min(2e-4 + 32 * layers * epsilon, 0.5);
}

template <class Exec>
Verdict compare_with_reference(Session<Exec>& session, const Setup& s,
                               const std::vector<std::vector<std::int32_t>>& all_prompts) {
  std::vector<std::vector<std::int32_t>> prompts = all_prompts;
  prompts.resize(std::min<std::size_t>(prompts.size(), most_sequences));
  const std::int64_t prompt_tokens = std::min(s.point.prompt_tokens, most_prompt_tokens);
  const std::int64_t steps = 1 + std::min(s.point.new_tokens - 1, most_decode_steps);
  const auto n_sequences = static_cast<std::int64_t>(prompts.size());
  const CacheRecipe recipe{PlacementId::contiguous, CodecId::f32, CodecId::f32,
                           AttentionId::two_pass};
  const auto reference =
      make_cache(session.exec, recipe, cache_spec(s.config, n_sequences, prompt_tokens + steps));
  const auto expected =
      run_steps(session.exec, *session.decoder, *reference, prompts, prompt_tokens, steps);
  const auto got =
      run_steps(session.exec, *session.decoder, *session.cache, prompts, prompt_tokens, steps);
  // The reference decodes few rows at a time; `none` recomputes many.
  const bool rounds =
      !s.generation.keeps_past &&
      ops::Matmul<Exec>::rounds_activations(n_sequences * (prompt_tokens + steps), s.element);
  return {worst_difference(got, expected), logit_bound(s, rounds)};
}

#define KVMETER_INSTANTIATE(Exec)                                             \
  template Verdict compare_with_reference<Exec>(Session<Exec>&, const Setup&, \
                                                const std::vector<std::vector<std::int32_t>>&);
KVMETER_FOR_EACH_EXEC(KVMETER_INSTANTIATE)
#undef KVMETER_INSTANTIATE

}  // namespace kvmeter::run

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/generation.hpp"

#include <algorithm>
#include <span>

#include "harness/exec/spaces.hpp"

namespace kvmeter {
namespace {

/// Tokens of one sequence in a step of the prefill.
std::int64_t chunk_of(const GenerationSpec& spec) {
  return spec.prefill_chunk > 0 ? std::min(spec.prefill_chunk, spec.max_prompt_tokens)
                                : spec.max_prompt_tokens;
}

/// The most tokens of a step.
std::int64_t most_rows(const GenerationSpec& spec) {
  if (!spec.keeps_past) return spec.batch * spec.max_tokens;
  const std::int64_t checked = spec.batch * std::min(chunk_of(spec), most_checked_tokens);
  if (spec.synthetic_prefill) return checked;  // the prefill computes nothing
  const std::int64_t own = spec.max_prompt_tokens - spec.shared_prefix_tokens;
  return std::max({spec.batch * std::min(chunk_of(spec), own),
                   std::min(chunk_of(spec), spec.shared_prefix_tokens), checked});
}

}  // namespace

StepLimits step_limits(const GenerationSpec& spec, std::int32_t tile_queries) {
  return {most_rows(spec), spec.batch, spec.max_tokens, spec.batch, tile_queries};
}

template <class Exec>
Generation<Exec>::Generation(const Exec& exec, const GenerationSpec& spec, Decoder<Exec>& decoder,
                             KvCache<Exec>& cache)
    : m_exec(exec),
      m_spec(spec),
      m_decoder(decoder),
      m_cache(cache),
      m_choice(exec, spec.sampling, spec.batch, decoder.config().vocab_size) {
  if (spec.synthetic_prefill)
    m_made_up.emplace(exec, decoder.config().kv_dim(), cache.tile_queries());
}

template <class Exec>
void Generation<Exec>::start(std::vector<std::vector<std::int32_t>> prompts) {
  KVMETER_EXPECTS(static_cast<std::int64_t>(prompts.size()) == m_spec.batch,
                  "{} prompts for a batch of {}", prompts.size(), m_spec.batch);
  m_prompt_tokens.clear();
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    KVMETER_EXPECTS(!prompts[i].empty(), "prompt {} is empty; at least one token is needed", i);
    m_prompt_tokens.push_back(prompts[i].size());
  }
  m_sequences = std::move(prompts);
  for (auto& sequence : m_sequences)
    sequence.reserve(sequence.size() + static_cast<std::size_t>(m_spec.max_new_tokens));
  m_cache.clear();
}

template <class Exec>
void Generation<Exec>::prefill() {
  m_taken_in = 0;
  const std::int64_t shared = m_spec.shared_prefix_tokens;
  if (shared > 0) {
    take_in(1, 0, shared);
    for (std::size_t i = 1; i < m_sequences.size(); ++i)
      m_cache.fork(m_exec, 0, static_cast<std::int32_t>(i), static_cast<std::int32_t>(shared));
  }
  take_in(m_sequences.size(), shared, std::ranges::max(m_prompt_tokens));
  if (!m_spec.synthetic_prefill || m_spec.max_new_tokens == 0) return;
  for (auto& sequence : m_sequences) sequence.push_back(sequence.back());
}

/// Prompt positions [from, to) of the first n sequences, as far as they have them, in chunks.
template <class Exec>
void Generation<Exec>::take_in(std::size_t n_sequences, std::int64_t from, std::int64_t to) {
  const std::int64_t most = m_spec.synthetic_prefill ? made_up_rows : to;
  const std::int64_t chunk = m_spec.prefill_chunk > 0 ? std::min(m_spec.prefill_chunk, most) : most;
  for (std::int64_t first = from; first < to; first += chunk) {
    m_plan.clear();
    for (std::size_t i = 0; i < n_sequences; ++i) {
      const std::int64_t end =
          std::min({first + chunk, to, static_cast<std::int64_t>(m_prompt_tokens[i])});
      if (end <= first) continue;
      const std::span<const std::int32_t> prompt(m_sequences[i]);
      m_plan.add(
          static_cast<std::int32_t>(i), static_cast<std::int32_t>(first),
          prompt.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(end - first)));
    }
    m_taken_in += m_plan.n_rows();
    if (m_made_up)
      m_made_up->append(m_exec, m_plan, m_decoder.config().n_layers, m_cache);
    else
      step();
  }
}

template <class Exec>
void Generation<Exec>::decode() {
  m_taken_in = 0;
  m_plan.clear();
  for (std::size_t i = 0; i < m_sequences.size(); ++i) {
    if (!goes_on(i)) continue;
    const std::span<const std::int32_t> all(m_sequences[i]);
    const std::size_t known = m_cache.keeps_past() ? all.size() - 1 : 0;
    m_plan.add(static_cast<std::int32_t>(i), static_cast<std::int32_t>(known), all.subspan(known));
  }
  if (m_plan.sequences.empty()) return;
  m_taken_in = m_plan.n_rows();
  step();
}

/// One step; sequences of which the cache then has all tokens get their next.
template <class Exec>
void Generation<Exec>::step() {
  m_decoder.step(m_exec, m_plan, m_cache);
  const bool any = std::ranges::any_of(m_plan.sequences, [&](const auto& s) { return ends(s); });
  if (any && m_spec.max_new_tokens > 0)
    sample();
  else
    m_exec.fence("kvmeter::model::generation: the plan is written anew");
}

/// Does this part of a step reach the end of its sequence?
template <class Exec>
bool Generation<Exec>::ends(const StepSequence& s) const {
  return s.first_position + s.n_tokens == std::ssize(m_sequences[static_cast<std::size_t>(s.slot)]);
}

template <class Exec>
void Generation<Exec>::sample() {
  m_logits = m_decoder.last_logits(m_exec);
  const auto& ids = m_choice.choose(m_exec, m_plan, m_logits);
  for (std::size_t i = 0; i < m_plan.sequences.size(); ++i)
    if (ends(m_plan.sequences[i]))
      m_sequences[static_cast<std::size_t>(m_plan.sequences[i].slot)].push_back(ids(i));
}

template <class Exec>
bool Generation<Exec>::goes_on(std::size_t i) const {
  const auto& sequence = m_sequences[i];
  const std::size_t generated = sequence.size() - m_prompt_tokens[i];
  if (generated >= static_cast<std::size_t>(m_spec.max_new_tokens)) return false;
  if (m_spec.ignore_eos || generated == 0) return true;
  const auto& eos = m_decoder.config().eos_tokens;
  return std::find(eos.begin(), eos.end(), sequence.back()) == eos.end();
}

template <class Exec>
bool Generation<Exec>::finished() const {
  for (std::size_t i = 0; i < m_sequences.size(); ++i)
    if (goes_on(i)) return false;
  return true;
}

#define KVMETER_INSTANTIATE(Exec) template class Generation<Exec>;
KVMETER_FOR_EACH_EXEC(KVMETER_INSTANTIATE)
#undef KVMETER_INSTANTIATE

}  // namespace kvmeter

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/generation.hpp"

#include <algorithm>
#include <span>

#include "harness/exec/spaces.hpp"

namespace kvmeter {

StepLimits step_limits(const GenerationSpec& spec, std::int32_t tile_queries) {
  const std::int64_t longest = spec.keeps_past ? spec.max_prompt_tokens : spec.max_tokens;
  return {spec.batch * longest, spec.batch, spec.max_tokens, spec.batch, tile_queries};
}

template <class Exec>
Generation<Exec>::Generation(const Exec& exec, const GenerationSpec& spec, Decoder<Exec>& decoder,
                             KvCache<Exec>& cache)
    : m_exec(exec), m_spec(spec), m_decoder(decoder), m_cache(cache) {
  using MemorySpace = typename Exec::memory_space;
  const auto ids = [&](const char* label, std::int64_t n) {
    return allocate<Array1<std::int32_t, MemorySpace>>(
        exec, std::string("kvmeter::activations::") + label, n);
  };
  m_ids = ids("sampled_ids", spec.batch);
  m_host_ids = Kokkos::create_mirror_view(Kokkos::HostSpace{}, m_ids);
  if (spec.sampling.greedy) return;
  m_draws = ids("draws", 2 * spec.batch);
  m_host_draws = Kokkos::create_mirror_view(Kokkos::HostSpace{}, m_draws);
  m_weights = allocate<Array2<float, MemorySpace>>(exec, "kvmeter::activations::sampling_weights",
                                                   spec.batch, decoder.config().vocab_size);
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
  m_plan.clear();
  for (std::size_t i = 0; i < m_sequences.size(); ++i)
    m_plan.add(static_cast<std::int32_t>(i), 0, m_sequences[i]);
  step();
}

template <class Exec>
void Generation<Exec>::decode() {
  m_plan.clear();
  for (std::size_t i = 0; i < m_sequences.size(); ++i) {
    if (!goes_on(i)) continue;
    const std::span<const std::int32_t> all(m_sequences[i]);
    const std::size_t known = m_cache.keeps_past() ? all.size() - 1 : 0;
    m_plan.add(static_cast<std::int32_t>(i), static_cast<std::int32_t>(known), all.subspan(known));
  }
  if (!m_plan.sequences.empty()) step();
}

template <class Exec>
void Generation<Exec>::step() {
  m_decoder.step(m_exec, m_plan, m_cache);
  m_logits = m_decoder.last_logits(m_exec);
  const std::size_t n = m_plan.sequences.size();
  const auto part = [](const auto& array, std::size_t first, std::size_t count) {
    return Kokkos::subview(array, std::make_pair(first, first + count));
  };
  ops::SamplingArguments<typename Exec::memory_space> arguments{
      m_logits, m_weights, {}, {}, part(m_ids, 0, n)};
  if (!m_spec.sampling.greedy) {
    for (std::size_t i = 0; i < n; ++i) {
      const StepSequence& s = m_plan.sequences[i];
      m_host_draws(i) = s.slot;
      m_host_draws(n + i) = s.first_position + s.n_tokens - 1;
    }
    Kokkos::deep_copy(m_exec, part(m_draws, 0, 2 * n), part(m_host_draws, 0, 2 * n));
    arguments.slots = part(m_draws, 0, n);
    arguments.positions = part(m_draws, n, n);
  }
  ops::sample(m_exec, m_spec.sampling, arguments);
  Kokkos::deep_copy(m_exec, part(m_host_ids, 0, n), part(m_ids, 0, n));
  m_exec.fence("kvmeter::model::generation: the host reads the sampled ids");
  for (std::size_t i = 0; i < n; ++i)
    m_sequences[static_cast<std::size_t>(m_plan.sequences[i].slot)].push_back(m_host_ids(i));
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

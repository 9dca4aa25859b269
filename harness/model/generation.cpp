// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/generation.hpp"

#include <algorithm>
#include <span>

#include "harness/exec/counter_random.hpp"
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

/// Made-up elements of standard deviation 1, as those of K and V after norms are about.
template <class MemorySpace>
struct MakeUpRows {
  Array2<float, MemorySpace> rows;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t index) const {
    const auto columns = static_cast<std::int64_t>(rows.extent(1));
    const double root3 = 1.7320508075688772;
    const double u = uniform01(splitmix64(static_cast<std::uint64_t>(index)));
    rows(index / columns, index % columns) = static_cast<float>(root3 * (2 * u - 1));
  }
};

}  // namespace

StepLimits step_limits(const GenerationSpec& spec, std::int32_t tile_queries) {
  return {most_rows(spec), spec.batch, spec.max_tokens, spec.batch, tile_queries};
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
  if (spec.synthetic_prefill) make_up_rows();
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
void Generation<Exec>::make_up_rows() {
  const std::int64_t columns = 2 * m_decoder.config().kv_dim();
  m_made_up = allocate<decltype(m_made_up)>(m_exec, "kvmeter::activations::made_up_rows",
                                            made_up_rows, columns);
  m_made_up_plan.emplace(m_exec, made_up_rows, 1, m_cache.tile_queries());
  const Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>> policy(m_exec, 0,
                                                                          made_up_rows * columns);
  Kokkos::parallel_for("kvmeter::model::make_up_rows", policy,
                       MakeUpRows<typename Exec::memory_space>{m_made_up});
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
    m_spec.synthetic_prefill ? take_in_made_up() : step();
  }
}

/// Made-up rows for the plan's positions, one sequence after the other.
template <class Exec>
void Generation<Exec>::take_in_made_up() {
  m_cache.reserve(m_exec, m_plan);
  const std::int64_t kv_dim = m_decoder.config().kv_dim();
  for (const StepSequence& s : m_plan.sequences) {
    StepPlan one;
    one.sequences.push_back(s);
    const auto plan = m_made_up_plan->upload(m_exec, one);
    const auto rows = [&](std::int64_t first) -> ProjectedRows<typename Exec::memory_space> {
      return Kokkos::subview(m_made_up, std::pair<std::int64_t, std::int64_t>(0, s.n_tokens),
                             std::make_pair(first, first + kv_dim));
    };
    for (std::int64_t layer = 0; layer < m_decoder.config().n_layers; ++layer)
      m_cache.append(m_exec, layer, rows(0), rows(kv_dim), plan);
    m_exec.fence("kvmeter::model::generation: the plan is written anew");
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
    if (ends(m_plan.sequences[i]))
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

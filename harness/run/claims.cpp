// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/exec/counter_random.hpp"
#include "harness/exec/ledger.hpp"

namespace kvmeter::run {
namespace {

/// Row `index` of a layer counts tokens, then heads, then sequences.
struct RowOf {
  std::int64_t n_tokens;
  std::int64_t n_kv_heads;

  KOKKOS_INLINE_FUNCTION std::uint64_t hash(const LayerCache& cache, std::int64_t index) const {
    const auto position = static_cast<std::int32_t>(index % n_tokens);
    const auto head = static_cast<std::int32_t>(index / n_tokens % n_kv_heads);
    const auto slot = static_cast<std::int32_t>(index / n_tokens / n_kv_heads);
    std::uint64_t h = 0;
    const std::byte* k = cache.k_row(slot, head, position);
    const std::byte* v = cache.v_row(slot, head, position);
    for (std::int32_t i = 0; i < cache.k_row_bytes; ++i)
      h = splitmix64(h ^ static_cast<std::uint64_t>(k[i]));
    for (std::int32_t i = 0; i < cache.v_row_bytes; ++i)
      h = splitmix64(h ^ static_cast<std::uint64_t>(v[i]));
    return h;
  }
};

template <class MemorySpace>
struct TakeHashes {
  LayerCache cache;
  RowOf row;
  Array2<std::uint64_t, MemorySpace> hashes;
  std::int64_t layer;
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    hashes(layer, i) = row.hash(cache, i);
  }
};

template <class MemorySpace>
struct CountChanged {
  LayerCache cache;
  RowOf row;
  Array2<std::uint64_t, MemorySpace> hashes;
  std::int64_t layer;
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i, std::int64_t& n) const {
    n += hashes(layer, i) == row.hash(cache, i) ? 0 : 1;
  }
};

template <class Exec>
using Rows = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;

/// Logits after the last of `tokens`, taken in by these steps.
template <class Exec>
std::vector<float> logits_after(Session<Exec>& session, const std::vector<std::int32_t>& tokens,
                                const std::vector<std::int64_t>& steps) {
  auto next = tokens.begin();
  for (const std::int64_t n : steps) {
    StepPlan plan;
    plan.add(0, static_cast<std::int32_t>(next - tokens.begin()),
             std::vector<std::int32_t>(next, next + n));
    session.decoder->step(session.exec, plan, *session.cache);
    session.exec.fence("kvmeter::run::claims: the plan is written anew");
    next += n;
  }
  const auto logits = session.decoder->last_logits(session.exec);
  std::vector<float> values(logits.size());
  Kokkos::deep_copy(session.exec,
                    Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace>(
                        values.data(), logits.extent(0), logits.extent(1)),
                    logits);
  session.exec.fence("kvmeter::run::claims: the host reads logits");
  session.cache->clear();
  return values;
}

}  // namespace

template <class Exec>
RowHashes<Exec>::RowHashes(const Exec& exec, const KvCache<Exec>& cache, const Setup& s)
    : m_n_layers(s.config.n_layers), m_batch(s.cache.batch), m_n_kv_heads(s.config.n_kv_heads) {
  const std::int64_t most = most_rows / (m_n_layers * m_batch * m_n_kv_heads);
  m_n_tokens = std::min(s.point.prompt_tokens, std::max<std::int64_t>(most, 1));
  m_hashes = allocate<decltype(m_hashes)>(exec, "kvmeter::check::row_hashes", m_n_layers,
                                          m_batch * m_n_kv_heads * m_n_tokens);
  for (std::int64_t layer = 0; layer < m_n_layers; ++layer)
    Kokkos::parallel_for("kvmeter::check::row_hashes",
                         Rows<Exec>(exec, 0, static_cast<std::int64_t>(m_hashes.extent(1))),
                         TakeHashes<typename Exec::memory_space>{
                             cache.layer(layer), {m_n_tokens, m_n_kv_heads}, m_hashes, layer});
}

template <class Exec>
std::int64_t RowHashes<Exec>::n_changed(const Exec& exec, const KvCache<Exec>& cache) const {
  std::int64_t changed = 0;
  for (std::int64_t layer = 0; layer < m_n_layers; ++layer) {
    std::int64_t n = 0;
    Kokkos::parallel_reduce("kvmeter::check::rows_changed",
                            Rows<Exec>(exec, 0, static_cast<std::int64_t>(m_hashes.extent(1))),
                            CountChanged<typename Exec::memory_space>{
                                cache.layer(layer), {m_n_tokens, m_n_kv_heads}, m_hashes, layer},
                            n);
    changed += n;
  }
  return changed;
}

template <class Exec>
std::int64_t RowHashes<Exec>::n_rows() const {
  return static_cast<std::int64_t>(m_hashes.size());
}

std::vector<std::int64_t> prefill_steps(std::int64_t n, std::int64_t chunk) {
  std::vector<std::int64_t> steps;
  if (n % chunk == 1) steps.push_back(chunk - 1);
  for (std::int64_t left = n - (steps.empty() ? 0 : chunk - 1); left > 0; left -= chunk)
    steps.push_back(std::min(chunk, left));
  return steps;
}

std::vector<std::int64_t> decode_steps(std::int64_t n, std::int64_t chunk) {
  std::vector<std::int64_t> steps;
  for (std::int64_t left = n - 1; left > 0; left -= chunk) steps.push_back(std::min(chunk, left));
  steps.push_back(1);
  return steps;
}

bool can_decode_differ(const Setup& s) {
  return s.generation.keeps_past && s.generation.prefill_chunk > 1 && s.point.prompt_tokens > 1 &&
         s.point.prompt_tokens <= most_claim_tokens;
}

template <class Exec>
double decode_difference(Session<Exec>& session, const Setup& s,
                         const std::vector<std::int32_t>& prompt) {
  const std::int64_t chunk =
      std::min(s.generation.prefill_chunk, session.decoder->limits().max_rows);
  const std::int64_t n = std::ssize(prompt);
  const auto at_once = logits_after(session, prompt, prefill_steps(n, chunk));
  const auto decoded = logits_after(session, prompt, decode_steps(n, chunk));
  double worst = 0;
  double largest = 0;
  for (std::size_t i = 0; i < at_once.size(); ++i) {
    const double difference = std::abs(double{at_once[i]} - double{decoded[i]});
    if (!std::isfinite(difference)) return std::numeric_limits<double>::quiet_NaN();
    worst = std::max(worst, difference);
    largest = std::max(largest, std::abs(double{at_once[i]}));
  }
  return largest > 0 ? worst / largest : worst;
}

std::string live_labels() {
  std::string text;
  for (const auto& [label, tally] : ledger().by_label())
    if (tally.live_bytes > 0) text += fmt::format("{} {}\n", label, tally.live_bytes);
  return text;
}

#define KVMETER_INSTANTIATE(Exec) \
  template class RowHashes<Exec>; \
  template double decode_difference(Session<Exec>&, const Setup&, const std::vector<std::int32_t>&);
KVMETER_FOR_EACH_EXEC(KVMETER_INSTANTIATE)
#undef KVMETER_INSTANTIATE

}  // namespace kvmeter::run

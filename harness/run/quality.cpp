// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/quality.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "harness/core/error.hpp"
#include "harness/exec/spaces.hpp"

namespace kvmeter::run {
namespace {

template <class View>
View first_of(const View& view, std::int64_t n) {
  if constexpr (View::rank() == 1)
    return Kokkos::subview(view, std::pair<std::int64_t, std::int64_t>(0, n));
  else
    return Kokkos::subview(view, std::pair<std::int64_t, std::int64_t>(0, n), Kokkos::ALL);
}

/// The arrays of one pass, for steps of up to `chunk` tokens.
template <class Exec>
class ScoringPass {
 public:
  using MemorySpace = typename Exec::memory_space;

  ScoringPass(const Exec& exec, Decoder<Exec>& decoder, std::int64_t chunk)
      : m_exec(exec), m_decoder(decoder) {
    m_reference = allocate<Array2<float, MemorySpace>>(exec, "kvmeter::quality::reference_logits",
                                                       chunk, decoder.config().vocab_size);
    m_next_ids =
        allocate<Array1<std::int32_t, MemorySpace>>(exec, "kvmeter::quality::next_ids", chunk);
    m_rows =
        allocate<Array1<ops::RowComparison, MemorySpace>>(exec, "kvmeter::quality::rows", chunk);
    m_host_next_ids = Kokkos::create_mirror_view(Kokkos::HostSpace{}, m_next_ids);
    m_host_rows = Kokkos::create_mirror_view(Kokkos::HostSpace{}, m_rows);
  }

  /// The next step: these tokens come after `first` others, and next[i] comes after tokens[i].
  void start(std::int64_t first, std::span<const std::int32_t> tokens,
             std::span<const std::int32_t> next, KvCache<Exec>& reference) {
    m_plan.clear();
    m_plan.add(0, static_cast<std::int32_t>(first), tokens);
    std::ranges::copy(next, m_host_next_ids.data());
    Kokkos::deep_copy(m_exec, m_next_ids, m_host_next_ids);
    Kokkos::deep_copy(m_exec, first_of(m_reference, n_rows()), logits(reference));
  }

  /// The same step with another cache.
  void compare(KvCache<Exec>& cache, Quality& quality) {
    const auto rows = first_of(m_rows, n_rows());
    const auto host_rows = first_of(m_host_rows, n_rows());
    ops::compare_logits<Exec>(m_exec,
                              {first_of(m_reference, n_rows()), logits(cache), m_next_ids, rows});
    Kokkos::deep_copy(m_exec, host_rows, rows);
    m_exec.fence("kvmeter::run::quality: the host reads the comparison");
    for (std::int64_t i = 0; i < n_rows(); ++i) quality.add(host_rows(i));
  }

 private:
  [[nodiscard]] std::int64_t n_rows() const { return std::ssize(m_plan.tokens); }

  Array2<float, MemorySpace> logits(KvCache<Exec>& cache) {
    m_decoder.step(m_exec, m_plan, cache);
    return m_decoder.logits(m_exec, 0, n_rows());
  }

  Exec m_exec;
  Decoder<Exec>& m_decoder;
  StepPlan m_plan;
  Array2<float, MemorySpace> m_reference;          // [chunk, vocab_size]
  Array1<std::int32_t, MemorySpace> m_next_ids;    // [chunk]
  Array1<ops::RowComparison, MemorySpace> m_rows;  // [chunk]
  HostArray1<std::int32_t> m_host_next_ids;
  HostArray1<ops::RowComparison> m_host_rows;
};

}  // namespace

void Quality::add(const ops::RowComparison& row) {
  nll.add(row.nll);
  nll_reference.add(row.nll_reference);
  kl.add(row.kl);
  same_top.add(row.same_top);
  if (!(row.kl <= kl_max) && !std::isnan(kl_max)) kl_max = row.kl;  // a NaN stays
}

double Quality::same_top_standard_error() const {
  const double p = same_top.mean();
  return std::sqrt(p * (1 - p) / static_cast<double>(same_top.n()));
}

void put_quality(const Quality& quality, PointRecord& record) {
  const auto put = [&](const char* name, double value) {
    if (!std::isnan(value)) record.values[name] = value;
  };
  const double perplexity = std::exp(quality.nll.mean());
  record.values["n_scored"] = quality.nll.n();
  put("nll_mean", quality.nll.mean());
  put("nll_mean_se", quality.nll.standard_error());
  put("nll_reference_mean", quality.nll_reference.mean());
  put("perplexity", perplexity);
  put("perplexity_se", perplexity * quality.nll.standard_error());
  put("kl_mean", quality.kl.mean());
  put("kl_mean_se", quality.kl.standard_error());
  put("kl_max", quality.kl_max);
  put("top1_agreement", quality.same_top.mean());
  put("top1_agreement_se", quality.same_top_standard_error());
}

StepLimits quality_limits(std::int64_t n_tokens, std::int64_t chunk, std::int32_t tile_queries) {
  return {chunk, 1, n_tokens, chunk, tile_queries, false};
}

template <class Exec>
std::vector<Quality> evaluate_quality(const Exec& exec, Decoder<Exec>& decoder,
                                      KvCache<Exec>& reference,
                                      std::span<KvCache<Exec>* const> caches,
                                      const std::vector<std::vector<std::int32_t>>& sequences,
                                      std::int64_t chunk) {
  KVMETER_EXPECTS(chunk > 0, "steps of {} tokens", chunk);
  KVMETER_EXPECTS(reference.keeps_past(), "quality needs a reference that keeps the past");
  for (const KvCache<Exec>* cache : caches)
    KVMETER_EXPECTS(cache->keeps_past(), "quality needs caches that keep the past");
  std::vector<Quality> results(caches.size());
  ScoringPass<Exec> pass(exec, decoder, chunk);
  for (const auto& sequence : sequences) {
    const std::span<const std::int32_t> ids(sequence);
    for (std::int64_t first = 0; first + 1 < std::ssize(ids); first += chunk) {
      const auto from = static_cast<std::size_t>(first);
      const auto n = static_cast<std::size_t>(std::min(chunk, std::ssize(ids) - 1 - first));
      pass.start(first, ids.subspan(from, n), ids.subspan(from + 1, n), reference);
      for (std::size_t i = 0; i < caches.size(); ++i) pass.compare(*caches[i], results[i]);
    }
    reference.clear();
    for (KvCache<Exec>* cache : caches) cache->clear();
  }
  return results;
}

#define KVMETER_INSTANTIATE(Exec)                                                   \
  template std::vector<Quality> evaluate_quality<Exec>(                             \
      const Exec&, Decoder<Exec>&, KvCache<Exec>&, std::span<KvCache<Exec>* const>, \
      const std::vector<std::vector<std::int32_t>>&, std::int64_t);
KVMETER_FOR_EACH_EXEC(KVMETER_INSTANTIATE)
#undef KVMETER_INSTANTIATE

}  // namespace kvmeter::run

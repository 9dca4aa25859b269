// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "harness/core/error.hpp"
#include "harness/run/expected.hpp"
#include "harness/run/session.hpp"

namespace kvmeter::run {
namespace {

constexpr std::int64_t chunk_rows = 64;  // positions whose logits are held at once

/// Collects differences of one tensor.
class Differences {
 public:
  explicit Differences(std::string what) { m_result.what = std::move(what); }

  void add(double ours, double theirs, std::int64_t sequence, std::int64_t position) {
    const double difference = ours - theirs;
    m_sum += difference;
    ++m_count;
    if (std::abs(difference) <= m_result.worst) return;  // a NaN is not: it stays the worst
    if (std::isnan(m_result.worst)) return;
    m_result.worst = std::abs(difference);
    m_result.where = fmt::format("sequence {}, position {}", sequence, position);
  }
  void add_scale(double value) { m_scale = std::max(m_scale, std::abs(value)); }

  Difference finish(double relative_bound, double scale) {
    m_result.scale = scale;
    m_result.bound = relative_bound * scale;
    m_result.mean = m_count > 0 ? m_sum / static_cast<double>(m_count) : 0;
    return m_result;
  }
  [[nodiscard]] double scale() const { return m_scale; }
  [[nodiscard]] bool empty() const { return m_count == 0; }

 private:
  Difference m_result;
  double m_scale = 0;
  double m_sum = 0;
  std::int64_t m_count = 0;
};

double negative_log_likelihood(std::span<const float> logits, std::int32_t token) {
  const double highest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - highest);
  return highest + std::log(sum) - logits[static_cast<std::size_t>(token)];
}

template <class Exec>
class Comparison {
 public:
  Comparison(const Setup& s, const Expected& expected)
      : m_expected(expected),
        m_vocab(s.config.vocab_size),
        m_step_tokens(s.generation.prefill_chunk),
        m_exact_cache(s.recipe.k_codec == CodecId::f32 && s.recipe.v_codec == CodecId::f32),
        m_session(s) {
    StepLimits limits = limits_of<Exec>(s);
    limits.max_logit_rows = std::max(limits.max_logit_rows, chunk_rows);
    limits.round_activations = false;  // the other side computed in f32
    m_session.decoder = std::make_unique<Decoder<Exec>>(
        m_session.exec, s.config, m_weights.get(m_session.exec, s), limits, s.element);
    m_session.cache = make_cache(m_session.exec, s.recipe, s.cache);
  }

  std::vector<Difference> run(double tolerance) {
    prefill();
    if (m_expected.new_tokens > 0) generate();
    const double scale = std::max({m_logits.scale(), m_steps.scale(), m_largest});
    std::vector<Difference> results;
    if (!m_logits.empty()) results.push_back(m_logits.finish(tolerance, scale));
    if (!m_nll.empty())
      results.push_back(m_nll.finish(2 * tolerance, scale));  // |d nll| <= 2 |d logit|
    if (!m_steps.empty()) results.push_back(m_steps.finish(tolerance, scale));
    if (m_ids.empty()) return results;
    results.push_back(m_ids.finish(0, 1));
    results.back().judged = m_exact_cache;
    return results;
  }

 private:
  /// Calls function(plan, first position) after each step over all prompts, of as many positions as
  /// the cache takes at once.
  template <class Function>
  void take_in_prompts(const Function& function) {
    for (std::int64_t first = 0; first < m_expected.prompt_tokens; first += m_step_tokens) {
      const std::int64_t n = std::min(m_step_tokens, m_expected.prompt_tokens - first);
      StepPlan plan;
      for (std::int64_t b = 0; b < m_expected.batch; ++b) {
        const std::span<const std::int32_t> ids(m_expected.input_ids[static_cast<std::size_t>(b)]);
        plan.add(static_cast<std::int32_t>(b), static_cast<std::int32_t>(first),
                 ids.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(n)));
      }
      m_session.decoder->step(m_session.exec, plan, *m_session.cache);
      function(plan, first);
    }
  }

  /// Logits of all rows, a chunk at a time.
  void prefill() {
    take_in_prompts([&](const StepPlan& plan, std::int64_t first) {
      const std::int64_t per_sequence = plan.sequences.front().n_tokens;
      for (std::int64_t row = 0; row < plan.n_rows(); row += chunk_rows) {
        const std::int64_t n = std::min(chunk_rows, plan.n_rows() - row);
        const auto logits = to_host(m_session.decoder->logits(m_session.exec, row, n));
        for (std::int64_t i = 0; i < n; ++i)
          compare_row((row + i) / per_sequence, first + (row + i) % per_sequence,
                      {&logits(i, 0), logits.extent(1)});
      }
    });
    m_session.cache->clear();
  }

  void compare_row(std::int64_t b, std::int64_t p, std::span<const float> ours) {
    const std::int64_t row = b * m_expected.prompt_tokens + p;
    for (const float logit : ours) m_largest = std::max(m_largest, std::abs(double{logit}));
    if (!m_expected.logits.empty()) compare_logits(m_logits, m_expected.logits, row, ours, b, p);
    if (m_expected.nll.empty() || p + 1 == m_expected.prompt_tokens) return;
    const std::int32_t next =
        m_expected.input_ids[static_cast<std::size_t>(b)][static_cast<std::size_t>(p + 1)];
    m_nll.add(negative_log_likelihood(ours, next),
              m_expected.nll[static_cast<std::size_t>(b * (m_expected.prompt_tokens - 1) + p)], b,
              p);
  }

  void compare_logits(Differences& differences, const std::vector<float>& all, std::int64_t row,
                      std::span<const float> ours, std::int64_t sequence, std::int64_t position) {
    const auto first = static_cast<std::size_t>(row * m_vocab);
    for (std::size_t i = 0; i < ours.size(); ++i) {
      differences.add(ours[i], all[first + i], sequence, position);
      differences.add_scale(all[first + i]);
    }
  }

  /// Prefill and decode along the expected tokens, so that one early difference does not hide the
  /// rest.
  void generate() {
    std::vector<std::vector<std::int32_t>> sequences = m_expected.input_ids;
    take_in_prompts([](const StepPlan&, std::int64_t) {});
    for (std::int64_t step = 0; step < m_expected.new_tokens; ++step) {
      if (step > 0) take_in_last(sequences);
      const auto logits = to_host(m_session.decoder->last_logits(m_session.exec));
      for (std::size_t b = 0; b < sequences.size(); ++b)
        sequences[b].push_back(
            compare_step(step, static_cast<std::int64_t>(b), {&logits(b, 0), logits.extent(1)}));
    }
    m_session.cache->clear();
  }

  /// The latest token of each sequence; all of them where the cache keeps nothing.
  void take_in_last(const std::vector<std::vector<std::int32_t>>& sequences) {
    StepPlan plan;
    for (std::size_t b = 0; b < sequences.size(); ++b) {
      const std::span<const std::int32_t> all(sequences[b]);
      const std::size_t known = m_session.cache->keeps_past() ? all.size() - 1 : 0;
      plan.add(static_cast<std::int32_t>(b), static_cast<std::int32_t>(known), all.subspan(known));
    }
    m_session.decoder->step(m_session.exec, plan, *m_session.cache);
  }

  /// Returns the expected token.
  std::int32_t compare_step(std::int64_t step, std::int64_t b, std::span<const float> ours) {
    const std::int32_t theirs =
        m_expected.generated[static_cast<std::size_t>(b)][static_cast<std::size_t>(step)];
    const auto chosen = std::max_element(ours.begin(), ours.end()) - ours.begin();
    m_ids.add(chosen == theirs ? 0 : 1, 0, b, m_expected.prompt_tokens + step);
    if (!m_expected.step_logits.empty())
      compare_logits(m_steps, m_expected.step_logits, b * m_expected.new_tokens + step, ours, b,
                     m_expected.prompt_tokens + step);
    return theirs;
  }

  HostArray2<float> to_host(const Array2<float, typename Exec::memory_space>& logits) {
    const auto host = Kokkos::create_mirror(Kokkos::HostSpace{}, logits);
    Kokkos::deep_copy(m_session.exec, host, logits);
    m_session.exec.fence("kvmeter::run::check: the host reads logits");
    return host;
  }

  const Expected& m_expected;
  std::int64_t m_vocab;
  std::int64_t m_step_tokens;  // of a sequence
  bool m_exact_cache;          // rounded rows may choose another token
  WeightsStore m_weights;
  Session<Exec> m_session;
  double m_largest = 0;  // |logit| of ours
  Differences m_logits{"logits"};
  Differences m_nll{"nll"};
  Differences m_steps{"step_logits"};
  Differences m_ids{"greedy ids that differ"};
};

void check_tokens(const Setup& s, const Expected& expected) {
  for (const auto* rows : {&expected.input_ids, &expected.generated})
    for (const auto& row : *rows)
      for (const std::int32_t id : row)
        KVMETER_EXPECTS(id >= 0 && id < s.config.vocab_size, "{}: token id {}; {} has ids 0 to {}",
                        expected.file, id, s.files.name, s.config.vocab_size - 1);
  KVMETER_EXPECTS(expected.vocab_size == 0 || expected.vocab_size == s.config.vocab_size,
                  "{}: logits over {} tokens; {} has {}", expected.file, expected.vocab_size,
                  s.files.name, s.config.vocab_size);
}

}  // namespace

std::vector<Difference> compare_with_expected(const Setup& s, const Expected& expected,
                                              double tolerance) {
  check_tokens(s, expected);
  return visit_backend(s.backend, [&](auto tag) {
    return Comparison<typename decltype(tag)::type>(s, expected).run(tolerance);
  });
}

}  // namespace kvmeter::run

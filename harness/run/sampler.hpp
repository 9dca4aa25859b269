// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Generation after generation with a clock around each step, until the stop rule is met.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/record.hpp"
#include "harness/core/stop.hpp"
#include "harness/measure/clock.hpp"
#include "harness/measure/stop_rule.hpp"
#include "harness/measure/timed.hpp"
#include "harness/measure/warmup.hpp"
#include "harness/run/claims.hpp"
#include "harness/run/session.hpp"
#include "harness/run/setup.hpp"

namespace kvmeter::run {

/// Samples of one point in one process.
template <class Exec>
class Sampler {
 public:
  Sampler(const Setup& setup, const StopRule& rule, const Limits& limits, Session<Exec>& session,
          PointRecord& record)
      : m_setup(setup),
        m_rule(within(rule, limits)),
        m_session(session),
        m_record(record),
        m_times_prefill(!setup.synthetic_prefill()),
        m_decision(m_rule, phases(setup)) {}

  /// Generations until the rule stops it. Returns seconds of each, warm-up left out.
  std::vector<double> run(const std::vector<std::vector<std::int32_t>>& prompts) {
    m_watch.restart();
    std::vector<double> seconds;
    while (true) {
      const double one = generate(prompts);
      if (!m_warmup.active()) {
        seconds.push_back(one);
        m_decision.finish_generation();
      }
      m_warmup.finish_generation();
      const auto reason = m_decision.reason(elapsed_s());
      if (!reason) continue;
      m_record.values["stop_reason"] = std::string(measure::name_of(*reason));
      return seconds;
    }
  }

 private:
  static std::vector<Phase> phases(const Setup& s) {
    std::vector<Phase> phases;
    if (!s.synthetic_prefill()) phases.push_back(Phase::prefill);
    if (s.point.new_tokens > 1) phases.push_back(Phase::decode);
    return phases;
  }

  double generate(const std::vector<std::vector<std::int32_t>>& prompts) {
    Generation<Exec>& generation = *m_session.generation;
    m_session.decoder->reset_counters();
    generation.start(prompts);
    double total = 0;
    if (m_times_prefill)
      total += timed(Phase::prefill, [&] { generation.prefill(); });
    else
      make_up(generation);
    const auto rows = hashes_before();
    const std::int32_t before = m_index;
    while (!generation.finished() && !warm_enough())
      total += timed(Phase::decode, [&] { generation.decode(); });
    if (rows && m_index > before) compare(*rows, m_index - before);
    return total;
  }

  /// A synthetic prefill is no step of the generation.
  void make_up(Generation<Exec>& generation) {
    const measure::Stopwatch watch;
    generation.prefill();
    m_apart_s += watch.seconds();
  }

  /// After so many steps.
  void compare(const RowHashes<Exec>& rows, std::int64_t n_steps) {
    const measure::Stopwatch watch;
    m_record.values["cache_rows_steps"] = n_steps;
    m_record.values["cache_rows_compared"] = rows.n_rows();
    m_record.values["cache_rows_changed"] = rows.n_changed(m_session.exec, *m_session.cache);
    m_apart_s += watch.seconds();
  }

  /// Since sampling began, without what is done besides.
  [[nodiscard]] double elapsed_s() const { return m_watch.seconds() - m_apart_s; }

  /// In the first generation, of caches that keep every row in its place.
  std::optional<RowHashes<Exec>> hashes_before() {
    const bool in_place =
        m_setup.generation.keeps_past && !forgets_beyond_window(m_setup.recipe.placement);
    if (!m_warmup.active() || !in_place) return std::nullopt;
    const measure::Stopwatch watch;
    RowHashes<Exec> rows(m_session.exec, *m_session.cache, m_setup);
    m_session.exec.fence("kvmeter::run::measure_point: hashes are taken");
    m_apart_s += watch.seconds();
    return rows;
  }

  [[nodiscard]] bool warm_enough() const {
    return m_warmup.active() && elapsed_s() > m_rule.max_seconds * warmup_share;
  }

  template <class Step>
  double timed(Phase phase, const Step& step) {
    Sample sample;
    sample.time_s = measure::time_step(m_session.exec, step);
    const StepPlan& plan = m_session.generation->plan();
    sample.index = m_index++;
    sample.phase = phase;
    sample.context_len = plan.max_context();
    sample.n_tokens = phase == Phase::prefill ? m_session.generation->tokens_taken_in()
                                              : static_cast<std::int64_t>(plan.sequences.size());
    sample.is_warmup = m_warmup.active();
    if (!sample.is_warmup) m_decision.add(phase, sample.time_s);
    m_record.samples.push_back(sample);
    return sample.time_s;
  }

  const Setup& m_setup;
  StopRule m_rule;
  Session<Exec>& m_session;
  PointRecord& m_record;
  bool m_times_prefill;
  measure::StopDecision m_decision;
  measure::Warmup m_warmup;
  measure::Stopwatch m_watch;
  double m_apart_s = 0;
  std::int32_t m_index = 0;
};

}  // namespace kvmeter::run

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/measure_point.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "harness/exec/ledger.hpp"
#include "harness/exec/memory.hpp"
#include "harness/measure/clock.hpp"
#include "harness/measure/stop_rule.hpp"
#include "harness/measure/timed.hpp"
#include "harness/measure/warmup.hpp"
#include "harness/run/claims.hpp"
#include "harness/run/measure_quality.hpp"
#include "harness/run/memory_account.hpp"
#include "harness/run/prediction.hpp"
#include "harness/run/reference_check.hpp"
#include "harness/run/scales.hpp"
#include "harness/run/session.hpp"
#include "harness/run/summarize.hpp"

namespace kvmeter::run {
namespace {

/// Samples of one point in one process.
template <class Exec>
class Sampler {
 public:
  Sampler(const Setup& setup, const StopRule& rule, const Limits& limits, Session<Exec>& session,
          PointRecord& record)
      : m_setup(setup),
        m_rule(limited(rule, limits)),
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
      if (!m_warmup.active()) seconds.push_back(one);
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

  static StopRule limited(StopRule rule, const Limits& limits) {
    if (limits.point_seconds > 0)
      rule.max_seconds = std::min(rule.max_seconds, limits.point_seconds);
    return rule;
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
    if (rows && m_index > before) compare(*rows);  // else nothing could have changed
    return total;
  }

  /// A synthetic prefill is no step of the generation.
  void make_up(Generation<Exec>& generation) {
    const measure::Stopwatch watch;
    generation.prefill();
    m_apart_s += watch.seconds();
  }

  void compare(const RowHashes<Exec>& rows) {
    const measure::Stopwatch watch;
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

  /// A long warm-up is broken off, so that it does not take the time for sampling.
  [[nodiscard]] bool warm_enough() const {
    return m_warmup.active() && elapsed_s() > m_rule.max_seconds / 4;
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

template <class Exec>
void put_memory(const Session<Exec>& session, PointRecord& record) {
  auto& values = record.values;
  put_cache_bytes(session.cache->footprint(), record);
  values["weights_bytes"] = ledger().live_bytes(weights_area);
  values["activations_bytes"] =
      ledger().live_bytes(activations_area) + session.cache->scratch_bytes();
  if (const auto peak = peak_rss_bytes()) values["peak_rss_bytes"] = *peak;
  values["live_labels"] = live_labels();
}

/// Failed checks leave no performance numbers behind.
bool check_first_steps(const Verdict& verdict, PointRecord& record) {
  record.values["check_max_difference"] = verdict.difference;
  record.values["check_bound"] = verdict.bound;
  if (verdict.passed()) return true;
  record.status = Status::incorrect;
  record.message = fmt::format(
      "first steps differ from the reference by {:.3g} of the largest logit; bound {:.3g}",
      verdict.difference, verdict.bound);
  return false;
}

std::int64_t generated_tokens(const std::vector<std::vector<std::int32_t>>& sequences,
                              std::int64_t prompt_tokens) {
  std::size_t most = 0;
  for (const auto& sequence : sequences) most = std::max(most, sequence.size());
  return static_cast<std::int64_t>(most) - prompt_tokens;
}

template <class Exec>
void measure_on(const Setup& s, const StopRule& rule, const Limits& limits, Bench& bench,
                PointRecord& record) {
  const Conditions& conditions = bench.peaks.at(s);
  const auto prompts = make_prompts(s);
  Session<Exec> session(s);
  session.build_decoder(s, bench.weights);
  session.exec.fence("kvmeter::run::measure_point: memory is read before the cache is built");
  session.scales = measure_scales(session.exec, *session.decoder, s, prompts);
  const MemorySnapshot before = memory_before(s.backend);
  session.build_cache(s);
  session.exec.fence("kvmeter::run::measure_point: memory is read after the cache was built");
  const MemorySnapshot built = memory_now(s.backend);
  if (!check_first_steps(compare_with_reference(session, s, prompts), record)) return;
  if (s.generation.keeps_past && s.generation.prefill_chunk > 1 &&
      s.point.prompt_tokens <= most_claim_tokens)
    record.values["decode_max_difference"] = decode_difference(session, s, prompts.front());
  ledger().reset_peak();  // what checks allocated is no part of the cache
  const auto generations = Sampler<Exec>(s, rule, limits, session, record).run(prompts);
  put_memory(session, record);
  put_growth(before, built, memory_now(s.backend), record);
  record.values["kv_projections"] = session.decoder->kv_projections();
  record.values["n_generated"] =
      generated_tokens(session.generation->sequences(), s.point.prompt_tokens);
  summarize(s, predict(s), conditions, generations, record);
  if (has_quality(s)) measure_quality(s, session, bench.weights, record);
}

/// Nothing that was measured before is left: of a point that failed there are no numbers.
void fail_with(const Setup& s, PointRecord& record, Status status, const std::string& message) {
  record.status = status;
  record.message = message;
  record.samples.clear();
  record.values.clear();
  describe(s, record);
}

}  // namespace

PointRecord measure_point(const Setup& s, const StopRule& rule, const Limits& limits,
                          Bench& bench) {
  PointRecord record;
  record.point = s.point;
  describe(s, record);
  const std::string shortage = memory_shortage(predict(s), limits.memory_bytes);
  if (!shortage.empty()) {
    fail_with(s, record, Status::skipped_predicted, shortage);
    return record;
  }
  const Status no_memory = s.backend == Backend::cuda ? Status::oom_device : Status::oom_host;
  try {
    visit_backend(s.backend, [&](auto tag) {
      measure_on<typename decltype(tag)::type>(s, rule, limits, bench, record);
    });
  } catch (const UnsupportedError& error) {
    fail_with(s, record, Status::unsupported, error.what());
  } catch (const OutOfMemoryError& error) {
    fail_with(s, record, no_memory, error.what());
  } catch (const std::bad_alloc&) {
    fail_with(s, record, no_memory, "an allocation failed");
  } catch (const std::exception& error) {
    fail_with(s, record, Status::crash, error.what());
  }
  return record;
}

}  // namespace kvmeter::run

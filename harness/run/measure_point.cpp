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
#include "harness/run/prediction.hpp"
#include "harness/run/reference_check.hpp"
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
      : m_rule(limited(rule, limits)),
        m_session(session),
        m_record(record),
        m_decision(m_rule, setup.point.new_tokens > 1
                               ? std::vector<Phase>{Phase::prefill, Phase::decode}
                               : std::vector<Phase>{Phase::prefill}) {}

  /// Generations until the rule stops it. Returns seconds of each, warm-up left out.
  std::vector<double> run(const std::vector<std::vector<std::int32_t>>& prompts) {
    m_watch.restart();
    std::vector<double> seconds;
    while (true) {
      const double one = generate(prompts);
      if (!m_warmup.active()) seconds.push_back(one);
      m_warmup.finish_generation();
      const auto reason = m_decision.reason(m_watch.seconds());
      if (!reason) continue;
      m_record.values["stop_reason"] = std::string(measure::name_of(*reason));
      return seconds;
    }
  }

 private:
  static StopRule limited(StopRule rule, const Limits& limits) {
    if (limits.point_seconds > 0)
      rule.max_seconds = std::min(rule.max_seconds, limits.point_seconds);
    return rule;
  }

  double generate(const std::vector<std::vector<std::int32_t>>& prompts) {
    Generation<Exec>& generation = *m_session.generation;
    m_session.decoder->reset_counters();
    generation.start(prompts);
    double total = timed(Phase::prefill, [&] { generation.prefill(); });
    while (!generation.finished() && !warm_enough())
      total += timed(Phase::decode, [&] { generation.decode(); });
    return total;
  }

  /// A long warm-up is broken off, so that it does not take the time for sampling.
  [[nodiscard]] bool warm_enough() const {
    return m_warmup.active() && m_watch.seconds() > m_rule.max_seconds / 4;
  }

  template <class Step>
  double timed(Phase phase, const Step& step) {
    Sample sample;
    sample.time_s = measure::time_step(m_session.exec, step);
    const StepPlan& plan = m_session.generation->plan();
    sample.index = m_index++;
    sample.phase = phase;
    sample.context_len = plan.max_context();
    sample.n_tokens =
        phase == Phase::prefill ? plan.n_rows() : static_cast<std::int64_t>(plan.sequences.size());
    sample.is_warmup = m_warmup.active();
    if (!sample.is_warmup) m_decision.add(phase, sample.time_s);
    m_record.samples.push_back(sample);
    return sample.time_s;
  }

  StopRule m_rule;
  Session<Exec>& m_session;
  PointRecord& m_record;
  measure::StopDecision m_decision;
  measure::Warmup m_warmup;
  measure::Stopwatch m_watch;
  std::int32_t m_index = 0;
};

template <class Exec>
void put_memory(const Session<Exec>& session, std::int64_t rss_before, PointRecord& record) {
  auto& values = record.values;
  const CacheFootprint footprint = session.cache->footprint();
  values["cache_formula_bytes"] = footprint.formula_bytes;
  values["cache_live_bytes"] = footprint.live_bytes;
  values["cache_metadata_bytes"] = footprint.metadata_bytes;
  values["cache_reserved_bytes"] = footprint.reserved_bytes;
  // What backs rows is what Kokkos allocated for them, not what the cache believes.
  values["cache_allocated_bytes"] =
      ledger().live_bytes("kvmeter::cache::k") + ledger().live_bytes("kvmeter::cache::v");
  values["weights_bytes"] = ledger().live_bytes(weights_area);
  values["activations_bytes"] =
      ledger().live_bytes(activations_area) + session.cache->scratch_bytes();
  if (const auto peak = peak_rss_bytes()) values["peak_rss_bytes"] = *peak;
  if (const auto rss = rss_bytes()) values["rss_delta_bytes"] = *rss - rss_before;
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
  release_freed_memory();
  reset_peak_rss();
  const std::int64_t rss_before = rss_bytes().value_or(0);
  session.build_cache(s);
  if (!check_first_steps(compare_with_reference(session, s, prompts), record)) return;
  const auto generations = Sampler<Exec>(s, rule, limits, session, record).run(prompts);
  put_memory(session, rss_before, record);
  record.values["kv_projections"] = session.decoder->kv_projections();
  record.values["n_generated"] =
      generated_tokens(session.generation->sequences(), s.point.prompt_tokens);
  summarize(s, predict(s), conditions, generations, record);
}

void fail_with(PointRecord& record, Status status, const std::string& message) {
  record.status = status;
  record.message = message;
  record.samples.clear();
}

}  // namespace

PointRecord measure_point(const Setup& s, const StopRule& rule, const Limits& limits,
                          Bench& bench) {
  PointRecord record;
  record.point = s.point;
  describe(s, record);
  const std::string shortage = memory_shortage(predict(s), limits.memory_bytes);
  if (!shortage.empty()) {
    fail_with(record, Status::skipped_predicted, shortage);
    return record;
  }
  try {
    visit_backend(s.backend, [&](auto tag) {
      measure_on<typename decltype(tag)::type>(s, rule, limits, bench, record);
    });
  } catch (const UnsupportedError& error) {
    fail_with(record, Status::unsupported, error.what());
  } catch (const std::bad_alloc&) {
    fail_with(record, s.backend == Backend::cuda ? Status::oom_device : Status::oom_host,
              "an allocation failed");
  } catch (const std::exception& error) {
    fail_with(record, Status::crash, error.what());
  }
  return record;
}

}  // namespace kvmeter::run

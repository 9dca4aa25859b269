// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/measure_point.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "harness/exec/ledger.hpp"
#include "harness/exec/memory.hpp"
#include "harness/run/claims.hpp"
#include "harness/run/measure_quality.hpp"
#include "harness/run/memory_account.hpp"
#include "harness/run/prediction.hpp"
#include "harness/run/prompts.hpp"
#include "harness/run/reference_check.hpp"
#include "harness/run/sampler.hpp"
#include "harness/run/scales.hpp"
#include "harness/run/session.hpp"
#include "harness/run/summarize.hpp"

namespace kvmeter::run {
namespace {

template <class Exec>
void put_memory(const Session<Exec>& session, PointRecord& record) {
  auto& values = record.values;
  put_cache_bytes(session.cache->footprint(), record);
  if (session.cache->keeps_past())
    values["effective_block_tokens"] = std::int64_t{session.cache->layer(0).block_tokens};
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
  if (can_decode_differ(s))
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
  release_freed_memory();  // of the point before
  const std::string shortage =
      memory_shortage(predict(s), limits.memory_bytes, ledger().live_bytes(weights_area));
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

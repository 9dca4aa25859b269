// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <ctime>
#include <filesystem>

#include "harness/core/units.hpp"
#include "harness/exec/environment.hpp"
#include "harness/exec/ledger.hpp"
#include "harness/record/durable_file.hpp"
#include "harness/record/journal.hpp"
#include "harness/record/result_file.hpp"
#include "harness/run/commands.hpp"
#include "harness/run/measure_point.hpp"
#include "harness/run/planned.hpp"
#include "harness/run/progress.hpp"
#include "harness/run/vocabulary.hpp"

namespace kvmeter::run {
namespace {

std::string now_iso8601() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

/// How the points of a run ended.
struct Tally {
  std::int64_t ran = 0;
  std::int64_t reused = 0;
  std::int64_t skipped = 0;  // by a rule of the sweep
  std::int64_t failed = 0;
};

Attributes attributes_of(const Sweep& sweep, const RunOptions& options) {
  Attributes attributes = environment();
  attributes["title"] = sweep.name;
  attributes["description"] = sweep.description;
  attributes["sweep_text"] = sweep.text;
  attributes["seed"] = static_cast<std::int64_t>(sweep.seed);
  attributes["command_line"] = options.command_line;
  attributes["started_at"] = now_iso8601();
  return attributes;
}

class SweepRun {
 public:
  SweepRun(const Sweep& sweep, const RunOptions& options, const std::vector<PlannedPoint>& points)
      : m_sweep(sweep),
        m_options(options),
        m_points(points),
        m_journal(open_journal(options)),
        m_attributes(attributes_of(sweep, options)),
        m_progress(static_cast<std::int64_t>(points.size()), expect_all()) {}

  Tally run() {
    m_journal.store_attributes(m_attributes);
    for (std::size_t i = 0; i < m_points.size(); ++i) {
      const std::int64_t failed_before = m_tally.failed;
      run_point(i);
      if (m_options.fail_fast && m_tally.failed > failed_before) break;
    }
    m_journal.store_attributes(m_attributes);
    return m_tally;
  }

  /// The points of this sweep; what else the journal holds stays there.
  void write() const { write_result(m_options.output, m_records, m_attributes, vocabulary()); }

 private:
  static Journal open_journal(const RunOptions& options) {
    const std::filesystem::path folder = journal_folder(options.output);
    if (options.fresh) std::filesystem::remove_all(folder);
    return Journal::create(folder);
  }

  double expect(std::size_t i) {
    if (m_points[i].skip) return 0;
    return point_seconds(m_points[i].prediction, m_bench.peaks.at(m_points[i].setup).rates(), m_sweep.stop);
  }
  double expect_all() {
    double total = 0;
    for (std::size_t i = 0; i < m_points.size(); ++i) total += expect(i);
    return total;
  }

  void run_point(std::size_t i) {
    const PlannedPoint& point = m_points[i];
    const auto index = static_cast<std::int64_t>(i);
    if (point.skip) {
      ++m_tally.skipped;
      m_progress.skip(index, point.spelling, "skipped: " + *point.skip, 0);
      return;
    }
    const std::string hash = hash_of(point);
    const JournalEntry entry = m_journal.load(hash);
    if (!entry.problem.empty()) fmt::print(stderr, "kvmeter: {}; it runs again\n", entry.problem);
    if (entry.record && entry.record->status == Status::ok) {
      ++m_tally.reused;
      m_records.push_back(*entry.record);
      m_progress.skip(index, point.spelling, "reused from the journal", expect(i));
      return;
    }
    measure(i, hash);
  }

  void measure(std::size_t i, const std::string& hash) {
    const PlannedPoint& point = m_points[i];
    m_progress.begin(static_cast<std::int64_t>(i), point.spelling, expect(i));
    const std::string started_at = now_iso8601();
    PointRecord record = measure_point(point.setup, m_sweep.stop, m_sweep.limits, m_bench);
    record.point_hash = hash;
    record.values["order"] = static_cast<std::int64_t>(i);
    record.values["started_at"] = started_at;
    m_journal.store(record);
    record.status == Status::ok ? ++m_tally.ran : ++m_tally.failed;
    const Conditions& conditions = m_bench.peaks.at(point.setup);
    for (const auto& [name, value] :
         peak_attributes(conditions.peak, conditions.element, conditions.shapes))
      m_attributes.insert_or_assign(name, value);
    m_progress.end(record);
    m_records.push_back(std::move(record));
  }

  [[nodiscard]] std::string hash_of(const PlannedPoint& point) const {
    std::vector<std::string> parts = hash_parts(point.setup);
    parts.push_back(fmt::format("{} {} {} {}", m_sweep.stop.min_samples, m_sweep.stop.max_seconds,
                                m_sweep.stop.relative_noise, m_sweep.stop.trials));
    return point_hash(point.spelling, parts);
  }

  const Sweep& m_sweep;
  const RunOptions& m_options;
  const std::vector<PlannedPoint>& m_points;
  Bench m_bench;
  Journal m_journal;
  Attributes m_attributes;
  Progress m_progress;
  std::vector<PointRecord> m_records;
  Tally m_tally;
};

}  // namespace

int run(const Sweep& sweep, const RunOptions& options) {
  const std::vector<PlannedPoint> points = plan_points(sweep);
  check_writable(options.output);
  ledger();  // listens from here on, before anything is allocated
  SweepRun sweep_run(sweep, options, points);
  const Tally tally = sweep_run.run();
  sweep_run.write();
  fmt::print(stderr, "{}: {} run, {} reused, {} failed, {} skipped\n", options.output.string(), tally.ran,
             tally.reused, tally.failed, tally.skipped);
  return tally.failed > 0 ? 2 : 0;
}

}  // namespace kvmeter::run

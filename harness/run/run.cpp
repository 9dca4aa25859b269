// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <ctime>
#include <filesystem>
#include <optional>

#include "harness/core/tell.hpp"
#include "harness/core/units.hpp"
#include "harness/exec/environment.hpp"
#include "harness/exec/ledger.hpp"
#include "harness/measure/peak.hpp"
#include "harness/record/journal.hpp"
#include "harness/record/result_file.hpp"
#include "harness/run/commands.hpp"
#include "harness/run/expected_time.hpp"
#include "harness/run/measure_point.hpp"
#include "harness/run/planned.hpp"
#include "harness/run/point_hash.hpp"
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
  attributes["library_versions"] = std::get<std::string>(attributes["library_versions"]) +
                                   measure::matmul_library() + "\n" + result_library() + "\n";
  attributes["title"] = sweep.name;
  attributes["description"] = sweep.description;
  attributes["sweep_text"] = sweep.text;
  attributes["seed"] = static_cast<std::int64_t>(sweep.seed);
  attributes["command_line"] = options.command_line;
  attributes["started_at"] = now_iso8601();
  return attributes;
}

/// A point of the sweep with what the journal already has of it.
struct Task {
  const PlannedPoint* point;
  std::string hash;
  std::optional<PointRecord> finished;
  double expected_s = 0;  // of points that will run
};

class SweepRun {
 public:
  SweepRun(const Sweep& sweep, const RunOptions& options, const std::vector<PlannedPoint>& points)
      : m_sweep(sweep),
        m_options(options),
        m_journal(open_journal(options)),
        m_attributes(attributes_of(sweep, options)) {
    const JournalAttributes earlier = m_journal.load_attributes();
    if (!earlier.problem.empty()) tell("kvmeter: {}; it is written anew\n", earlier.problem);
    keep_peaks(earlier.attributes);
    for (const PlannedPoint& point : points) m_tasks.push_back(task_of(point));
  }

  Tally run() {
    double expected_s = 0;
    for (const Task& task : m_tasks) expected_s += task.expected_s;
    Progress progress(static_cast<std::int64_t>(m_tasks.size()), expected_s);
    m_journal.store_attributes(m_attributes);
    for (std::size_t i = 0; i < m_tasks.size(); ++i) {
      run_task(static_cast<std::int64_t>(i), m_tasks[i], progress);
      if (m_options.fail_fast && m_tally.failed > 0) break;
    }
    m_journal.store_attributes(m_attributes);
    return m_tally;
  }

  /// The points of this sweep; what else the journal holds stays there.
  void write() const { write_result(m_options.output, m_records, m_attributes, vocabulary()); }

 private:
  static Journal open_journal(const RunOptions& options) {
    Journal journal = Journal::create(journal_folder(options.output));
    if (options.fresh) journal.clear();
    return journal;
  }

  /// What earlier points were held against still holds for them, if no point runs now.
  void keep_peaks(const Attributes& earlier) {
    for (const auto& [name, value] : earlier)
      if (name.starts_with("peak_")) m_attributes.insert_or_assign(name, value);
  }

  Task task_of(const PlannedPoint& point) {
    Task task{&point, {}, {}, 0};
    if (point.skip) return task;
    task.hash = hash_of(point);
    JournalEntry entry = m_journal.load(task.hash);
    if (!entry.problem.empty()) tell("kvmeter: {}; it runs again\n", entry.problem);
    if (entry.record && entry.record->status == Status::ok) {
      task.finished = std::move(entry.record);
      return task;
    }
    if (memory_shortage(point.prediction, m_sweep.limits.memory_bytes, 0).empty())
      task.expected_s = point_seconds(point.prediction, m_bench.peaks.at(point.setup).rates(),
                                      within(m_sweep.stop, m_sweep.limits));
    return task;
  }

  void run_task(std::int64_t number, const Task& task, Progress& progress) {
    if (task.point->skip) {
      ++m_tally.skipped;
      progress.skip(number, task.point->spelling, "skipped: " + *task.point->skip);
    } else if (task.finished) {
      ++m_tally.reused;
      m_records.push_back(*task.finished);
      m_records.back().values["order"] =
          task.point->index;  // an earlier sweep may have had another
      progress.skip(number, task.point->spelling, "reused from the journal");
    } else {
      measure(number, task, progress);
    }
  }

  void measure(std::int64_t number, const Task& task, Progress& progress) {
    const Setup& setup = task.point->setup;
    progress.begin(number, task.point->spelling, task.expected_s);
    const std::string started_at = now_iso8601();
    PointRecord record = measure_point(setup, m_sweep.stop, m_sweep.limits, m_bench);
    record.point_hash = task.hash;
    record.values["order"] = task.point->index;
    record.values["started_at"] = started_at;
    m_journal.store(record);
    record.status == Status::ok ? ++m_tally.ran : ++m_tally.failed;
    const Conditions& conditions = m_bench.peaks.at(setup);
    for (const auto& [name, value] : peak_attributes(conditions.peak, conditions.matmul_rate()))
      m_attributes.insert_or_assign(name, value);
    progress.end(record);
    m_records.push_back(std::move(record));
  }

  [[nodiscard]] std::string hash_of(const PlannedPoint& point) const {
    std::vector<std::string> parts = hash_parts(point.setup);
    const StopRule& stop = m_sweep.stop;
    parts.push_back(
        fmt::format("{} {} {}", stop.min_samples, stop.max_seconds, stop.relative_noise));
    return point_hash(point.spelling, parts);
  }

  const Sweep& m_sweep;
  const RunOptions& m_options;
  Bench m_bench;
  Journal m_journal;
  Attributes m_attributes;
  std::vector<Task> m_tasks;
  std::vector<PointRecord> m_records;
  Tally m_tally;
};

}  // namespace

int run(const Sweep& sweep, const RunOptions& options) {
  const std::vector<PlannedPoint> points = plan_points(sweep);
  check_replaceable(options.output);
  ledger();  // listens from here on, before anything is allocated
  SweepRun sweep_run(sweep, options, points);
  const Tally tally = sweep_run.run();
  sweep_run.write();
  tell("{}: {} run, {} reused, {} failed, {} skipped\n", options.output.string(), tally.ran,
       tally.reused, tally.failed, tally.skipped);
  return tally.failed > 0 ? 2 : 0;
}

}  // namespace kvmeter::run

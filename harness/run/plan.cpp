// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/core/units.hpp"
#include "harness/run/commands.hpp"
#include "harness/run/expected_time.hpp"
#include "harness/run/planned.hpp"

namespace kvmeter::run {
namespace {

struct Row {
  const PlannedPoint* point;
  std::string skip;
  double seconds = 0;
};

/// Memory is compared here and again when a point is about to run.
std::vector<Row> rows_of(const Sweep& sweep, const std::vector<PlannedPoint>& points) {
  Peaks peaks;
  std::vector<Row> rows;
  for (const PlannedPoint& point : points) {
    Row row{&point, point.skip.value_or(""), 0};
    if (!point.skip) {
      row.skip = memory_shortage(point.prediction, sweep.limits.memory_bytes, 0);
      row.seconds = point_seconds(point.prediction, peaks.at(point.setup).rates(),
                                  within(sweep.stop, sweep.limits));
    }
    rows.push_back(row);
  }
  return rows;
}

void print_table(const Sweep& sweep, const std::vector<Row>& rows) {
  fmt::print("{}: {} point{}{}{}\n", sweep.name, rows.size(), rows.size() == 1 ? "" : "s",
             sweep.description.empty() ? "" : ". ", sweep.description);
  fmt::print("{:>5}  {:>10}  {:>10}  {:>10}  {:>10}  {}\n", "point", "weights", "cache",
             "activation", "time", "what");
  double total = 0;
  std::size_t n_skipped = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& [point, skip, seconds] = rows[i];
    if (!skip.empty()) {
      ++n_skipped;
      fmt::print("{:>5}  {:>46}  {}: {}\n", i + 1, "skipped", point->spelling, skip);
      continue;
    }
    total += seconds;
    fmt::print("{:>5}  {:>10}  {:>10}  {:>10}  {:>10}  {}\n", i + 1,
               format_bytes(point->prediction.weights_bytes),
               format_bytes(point->prediction.cache_peak_bytes),
               format_bytes(point->prediction.activations_bytes), format_seconds(seconds),
               point->spelling);
  }
  fmt::print("{} to run, {} skipped", rows.size() - n_skipped, n_skipped);
  if (n_skipped < rows.size())
    fmt::print("; at least {} at this machine's peaks", format_seconds(total));
  fmt::print("\n");
}

nlohmann::ordered_json to_json(const Row& row) {
  nlohmann::ordered_json json{{"point", row.point->spelling}};
  if (!row.skip.empty()) {
    json["skip"] = row.skip;
    return json;
  }
  const Prediction& p = row.point->prediction;
  json["weights_bytes"] = p.weights_bytes;
  json["cache_formula_bytes"] = p.cache.formula_bytes;
  json["cache_allocated_bytes"] = p.cache.allocated_bytes();
  json["cache_peak_bytes"] = p.cache_peak_bytes;
  json["activations_bytes"] = p.activations_bytes;
  json["quality_bytes"] = p.quality_bytes;
  json["total_bytes"] = p.total_bytes();
  json["prefill_flops"] = p.prefill.flops;
  json["decode_bytes_read"] = p.decode.bytes_read;
  json["seconds"] = row.seconds;
  return json;
}

}  // namespace

int plan(const Sweep& sweep, bool json) {
  const std::vector<PlannedPoint> points = plan_points(sweep);
  const std::vector<Row> rows = rows_of(sweep, points);
  if (!json) {
    print_table(sweep, rows);
    return 0;
  }
  nlohmann::ordered_json all{{"name", sweep.name}, {"points", nlohmann::ordered_json::array()}};
  for (const Row& row : rows) all["points"].push_back(to_json(row));
  fmt::print("{}\n", all.dump(2));
  return 0;
}

}  // namespace kvmeter::run

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/planned.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/error.hpp"

namespace kvmeter::run {
namespace {

/// Sets up one point; a mistake goes to `mistakes`, a combination that is not done becomes a skip.
PlannedPoint plan_point(const Sweep& sweep, const SweepPoint& point, std::string& mistakes) {
  PlannedPoint planned{point.index, canonical(point.point), {}, {}, point.skip_reason};
  if (planned.skip) return planned;
  try {
    planned.setup = make_setup(point.point, sweep.seed);
    planned.prediction = predict(planned.setup);
  } catch (const UnsupportedError& error) {
    planned.skip = fmt::format("unsupported: {}", error.what());
  } catch (const Error& error) {
    const std::string line =
        fmt::format("{}{}point {}: {}\n", sweep.where, sweep.where.empty() ? "" : ": ",
                    planned.spelling, error.what());
    if (mistakes.find(error.what()) == std::string::npos) mistakes += line;  // each once
  }
  return planned;
}

/// A sweep that measures nothing is a mistake.
void check_any_runs(const std::vector<PlannedPoint>& points) {
  if (std::ranges::any_of(points, [](const auto& point) { return !point.skip; })) return;
  if (points.empty()) return;  // of a shard
  throw UsageError(
      fmt::format("no point can run: {}: {}", points.front().spelling, *points.front().skip));
}

}  // namespace

std::vector<PlannedPoint> plan_points(const Sweep& sweep) {
  std::vector<PlannedPoint> points;
  std::string mistakes;
  for (const SweepPoint& point : sweep.points) points.push_back(plan_point(sweep, point, mistakes));
  if (!mistakes.empty()) throw UsageError(mistakes.substr(0, mistakes.size() - 1));
  check_any_runs(points);
  return points;
}

}  // namespace kvmeter::run

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/workload/detail/stages.hpp"

namespace kvmeter::sweep_detail {
namespace {

constexpr std::size_t kMostPoints = 1'000'000;

void set_row(Point& point, const Axis& axis, std::size_t row) {
  for (const Column& column : axis.columns)
    for (const PointKey* key : column.keys) set(point, *key, column.values[row]);
}

bool matches(const Point& point, const Column& when) {
  return std::ranges::any_of(when.values, [&](const PointValue& value) {
    return std::ranges::all_of(when.keys,
                               [&](const PointKey* key) { return get(point, *key) == value; });
  });
}

std::optional<std::string> skip_reason(const Point& point, const std::vector<SkipRule>& rules) {
  for (const SkipRule& rule : rules)
    if (std::ranges::all_of(rule.when, [&](const Column& when) { return matches(point, when); }))
      return rule.because;
  return std::nullopt;
}

/// What is wrong with the combination of values, whatever the model is.
std::optional<std::string> contradiction(const Point& point) {
  if (point.weights == "checkpoint" && point.kv_heads != "model")
    return fmt::format("kv_heads = {}: needs weights = random; a checkpoint has its own KV heads",
                       point.kv_heads);
  return std::nullopt;
}

/// The rows of an axis to use: all, or after an override the first of each that are equal.
std::vector<std::size_t> rows_of(const Axis& axis) {
  std::vector<std::size_t> rows;
  std::set<std::vector<PointValue>> seen;
  for (std::size_t row = 0; row < axis.size(); ++row) {
    std::vector<PointValue> values;
    for (const Column& column : axis.columns) values.push_back(column.values[row]);
    if (seen.insert(values).second || !axis.merge_equal_rows) rows.push_back(row);
  }
  return rows;
}

std::size_t count_points(const std::vector<std::vector<std::size_t>>& rows) {
  std::size_t count = 1;
  for (const auto& axis_rows : rows) count = std::min(count * axis_rows.size(), kMostPoints + 1);
  return count;
}

}  // namespace

std::vector<SweepPoint> expand(Context& context, const Spec& spec, const Place& whole) {
  std::vector<std::vector<std::size_t>> rows;  // [axis][n rows]
  for (const Axis& axis : spec.axes) rows.push_back(rows_of(axis));
  const std::size_t count = count_points(rows);
  if (count > kMostPoints) {
    context.mistakes.add(whole, fmt::format("more than {} points", kMostPoints));
    return {};
  }
  std::set<std::string> contradictions;
  std::vector<SweepPoint> points(count);
  for (std::size_t i = 0; i < count; ++i) {
    points[i].index = static_cast<std::int64_t>(i);
    std::size_t rest = i;
    for (std::size_t a = rows.size(); a-- > 0; rest /= rows[a].size())
      set_row(points[i].point, spec.axes[a], rows[a][rest % rows[a].size()]);
    points[i].skip_reason = skip_reason(points[i].point, spec.skips);
    const auto wrong = contradiction(points[i].point);
    if (wrong && !points[i].skip_reason) contradictions.insert(*wrong);
  }
  for (const std::string& text : contradictions) context.mistakes.add(whole, text);
  return points;
}

}  // namespace kvmeter::sweep_detail

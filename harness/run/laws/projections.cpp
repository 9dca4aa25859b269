// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/laws/projections.hpp"

#include <algorithm>
#include <map>

#include "harness/measure/statistics.hpp"
#include "harness/run/laws/cache_facts.hpp"

namespace kvmeter::laws {
namespace {

using Members = std::vector<const PointRecord*>;

double tokens_of(const PointRecord* record) {
  return static_cast<double>(tokens_at_end(record->point));
}

/// The exponent of value(record) over tokens; nothing where a value is missing.
template <class Value>
std::optional<double> exponent(const Members& members, const Value& value) {
  std::vector<double> x, y;
  for (const PointRecord* record : members) {
    x.push_back(tokens_of(record));
    y.push_back(value(*record));
  }
  const auto law = measure::power_law(x, y);
  return law ? std::optional(law->exponent) : std::nullopt;
}

double projections(const PointRecord& record) {
  return static_cast<double>(find_value<std::int64_t>(record, "kv_projections").value_or(0));
}

double total_s(const PointRecord& record) {
  return find_value<double>(record, "total_s").value_or(0);
}

}  // namespace

std::int64_t tokens_at_end(const Point& point) {
  return point.prompt_tokens + std::max<std::int64_t>(point.new_tokens - 1, 0);
}

std::int64_t expected_projections(const Point& point) {
  const std::int64_t first = point.prompt_tokens, last = tokens_at_end(point);
  const std::int64_t steps = last - first;  // decode steps
  if (point.prefill == "synthetic") return point.batch * steps;
  if (point.cache == "none") return point.batch * (first + last) * (steps + 1) / 2;
  const std::int64_t shared = std::min(point.shared_prefix_tokens, first);
  return shared + point.batch * (last - shared);
}

bool may_have_ended_early(const PointRecord& record) {
  if (record.point.ignore_eos) return false;
  if (record.point.batch > 1) return true;  // others than the longest
  const auto generated = find_value<std::int64_t>(record, "n_generated");
  return generated && *generated != record.point.new_tokens;
}

std::vector<Growth> growth_of(std::span<const PointRecord* const> records) {
  std::map<std::string, Members> alike;
  for (const PointRecord* record : records) {
    Point common = record->point;
    common.new_tokens = Point{}.new_tokens;
    common.repeat = 0;
    if (!may_have_ended_early(*record)) alike[canonical(common)].push_back(record);
  }
  std::vector<Growth> all;
  for (const auto& [common, members] : alike) {
    const auto [least, most] = std::ranges::minmax(members, {}, tokens_of);
    const Growth growth{least->point,   tokens_at_end(least->point),    tokens_at_end(most->point),
                        members.size(), exponent(members, projections), exponent(members, total_s)};
    if (growth.from != growth.to) all.push_back(growth);
  }
  return all;
}

}  // namespace kvmeter::laws

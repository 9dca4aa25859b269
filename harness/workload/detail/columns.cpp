// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/workload/detail/columns.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <optional>

#include "harness/core/error.hpp"

namespace kvmeter::sweep_detail {
namespace {

constexpr std::string_view kCacheElement = "cache_element";

/// The value as the keys of the column hold it, or nothing and a mistake.
template <class SetKey>
std::optional<PointValue> checked(Context& context, const Column& column, const Place& place,
                                  SetKey&& set_key) {
  const PointKey& key = *column.keys.front();
  const std::string alias = column.name == key.name ? "" : column.name + ": ";
  try {
    Point scratch;
    set_key(scratch, key);
    PointValue value = get(scratch, key);
    const auto wrong = context.check ? context.check(key, value) : std::nullopt;
    if (!wrong) return value;
    context.mistakes.add(place, alias + *wrong);
  } catch (const UsageError& error) {
    context.mistakes.add(place, alias + error.what());
  }
  return std::nullopt;
}

void push(Column& column, std::optional<PointValue> value) {
  column.faulty = column.faulty || !value;
  column.values.push_back(value ? *std::move(value) : PointValue{});
}

void check_lengths(Context& context, const Axis& axis) {
  bool equal = true;
  std::vector<std::string> lengths;
  for (const Column& column : axis.columns) {
    if (column.values.empty())
      context.mistakes.add(column.place, fmt::format("{}: no values", column.name));
    equal = equal && column.values.size() == axis.size();
    lengths.push_back(fmt::format("{} has {}", column.name, column.values.size()));
  }
  if (!equal)
    context.mistakes.add(axis.place,
                         fmt::format("zip: lists of unequal length: {}", fmt::join(lengths, ", ")));
}

/// The values of one row, spelled; nothing if there are lists of unequal length or mistakes.
std::optional<std::string> row_text(const Axis& axis, std::size_t row) {
  std::string text;
  for (const Column& column : axis.columns) {
    if (column.faulty || column.values.size() != axis.size()) return std::nullopt;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} = {}", column.name, to_text(column.values[row]));
  }
  return text;
}

void check_equal_rows(Context& context, const Axis& axis) {
  std::map<std::string, int> seen;
  for (std::size_t row = 0; row < axis.size(); ++row) {
    const auto text = row_text(axis, row);
    if (!text) return;
    if (++seen[*text] == 2)
      context.mistakes.add(axis.place, fmt::format("{}: given twice, the points would be the same; "
                                                   "an axis 'repeat' repeats points",
                                                   *text));
  }
}

}  // namespace

std::vector<const PointKey*> keys_of(std::string_view name) {
  if (name == kCacheElement) return {find_point_key("k_element"), find_point_key("v_element")};
  if (const PointKey* key = find_point_key(name)) return {key};
  return {};
}

std::vector<std::string_view> column_names() {
  std::vector<std::string_view> names = point_key_names();
  names.push_back(kCacheElement);
  return names;
}

void add_value(Context& context, Column& column, const PointValue& value, const Place& place) {
  push(column, checked(context, column, place,
                       [&](Point& point, const PointKey& key) { set(point, key, value); }));
}

void add_text(Context& context, Column& column, std::string_view text, const Place& place) {
  push(column, checked(context, column, place, [&](Point& point, const PointKey& key) {
         set_from_text(point, key, text);
       }));
}

void check_axes(Context& context, const Spec& spec, const Place& whole) {
  std::map<std::string_view, const Column*> given;  // by key
  for (const Axis& axis : spec.axes) {
    check_lengths(context, axis);
    if (!axis.merge_equal_rows) check_equal_rows(context, axis);
    for (const Column& column : axis.columns) {
      for (const PointKey* key : column.keys) {
        const auto [first, is_new] = given.emplace(key->name, &column);
        if (is_new) continue;
        context.mistakes.add(column.place,
                             fmt::format("{}: given twice, before as {} at {}", key->name,
                                         first->second->name, first->second->place.text()));
      }
    }
  }
  if (!given.contains("model"))
    context.mistakes.add(whole,
                         "model: not given; allowed: a name from `kvmeter list models`, or a "
                         "checkpoint folder");
}

}  // namespace kvmeter::sweep_detail

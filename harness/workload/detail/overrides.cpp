// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/core/error.hpp"
#include "harness/core/names.hpp"
#include "harness/core/quote.hpp"
#include "harness/workload/detail/settings.hpp"
#include "harness/workload/detail/stages.hpp"

namespace kvmeter::sweep_detail {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

Column read_column(Context& context, const std::string& name, const std::string& values,
                   const Place& place) {
  Column column{name, keys_of(name), {}, place};
  for (const std::string& item : split_quoted(values, ','))
    add_text(context, column, trimmed(item), place);
  return column;
}

/// Takes the keys out of all columns, and leaves out columns without keys and axes without columns.
void take_away(std::vector<Axis>& axes, const std::vector<const PointKey*>& keys) {
  for (Axis& axis : axes) {
    const std::size_t before = axis.columns.size();
    for (Column& column : axis.columns)
      std::erase_if(column.keys, [&](const PointKey* key) {
        return std::ranges::find(keys, key) != keys.end();
      });
    std::erase_if(axis.columns, [](const Column& column) { return column.keys.empty(); });
    if (axis.columns.size() != before) axis.merge_equal_rows = true;
  }
  std::erase_if(axes, [](const Axis& axis) { return axis.columns.empty(); });
}

/// In the place of an axis or fixed value of the same name, else as the last and fastest axis.
void place_column(std::vector<Axis>& axes, Column column) {
  for (Axis& axis : axes) {
    if (axis.columns.size() != 1 || axis.columns.front().keys != column.keys) continue;
    axis = Axis{{std::move(column)}, axis.place};
    axis.place = axis.columns.front().place;
    return;
  }
  take_away(axes, column.keys);
  const Place place = column.place;
  axes.push_back({{std::move(column)}, place});
}

/// Notes the name, or the keys that it sets; false if one of them was there.
bool all_new(std::set<std::string_view>& seen, std::string_view name) {
  bool all = true;
  const auto keys = keys_of(name);
  if (keys.empty()) return seen.insert(name).second;
  for (const PointKey* key : keys) all = seen.insert(key->name).second && all;
  return all;
}

std::vector<std::string_view> all_names() {
  std::vector<std::string_view> names = column_names();
  std::ranges::copy(setting_names(), std::back_inserter(names));
  return names;
}

}  // namespace

void apply_overrides(Context& context, Spec& spec, const Overrides& overrides,
                     std::string (*flag)(std::string_view)) {
  const auto settings = setting_names();
  std::set<std::string_view> seen;
  for (const auto& [name, values] : overrides) {
    const Place place{flag(name)};
    if (!all_new(seen, name)) {
      context.mistakes.add(place, "given twice; several values are a list, v1,v2");
    } else if (std::ranges::find(settings, name) != settings.end()) {
      apply_setting_text(context, spec.sweep, name, values, place);
    } else if (keys_of(name).empty()) {
      context.mistakes.add(place, unknown_name("key", name, all_names()));
    } else {
      try {
        place_column(spec.axes, read_column(context, name, values, place));
      } catch (const UsageError& error) {
        context.mistakes.add(place, error.what());
      }
    }
  }
}

}  // namespace kvmeter::sweep_detail

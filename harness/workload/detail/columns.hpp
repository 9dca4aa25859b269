// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Makes columns: names to keys, values checked one by one, mistakes noted with their place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/workload/detail/spec.hpp"

namespace kvmeter::sweep_detail {

/// What the stages of reading share.
struct Context {
  const ValueCheck& check;
  Mistakes mistakes;
};

/// Keys set by a name: one, several for an alias (cache_element), none if it is unknown.
std::vector<const PointKey*> keys_of(std::string_view name);

/// All names that keys_of knows.
std::vector<std::string_view> column_names();

/// Adds a value, or a placeholder and a mistake.
void add_value(Context& context, Column& column, const PointValue& value, const Place& place);
void add_text(Context& context, Column& column, std::string_view text, const Place& place);

/// Notes empty columns, unequal lengths in a zip, equal rows, keys given twice and a missing model.
void check_axes(Context& context, const Spec& spec, const Place& whole);

}  // namespace kvmeter::sweep_detail

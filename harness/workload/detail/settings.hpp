// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The values of a sweep that are no axes: name, description, seed, [stop] and [limits].
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/workload/detail/columns.hpp"

namespace kvmeter::sweep_detail {

/// Names as --set spells them: "seed", "stop.min_samples".
std::vector<std::string_view> setting_names();

/// Those of a table without its name: "stop" gives "min_samples", ...; "" gives those of no table.
std::vector<std::string_view> setting_names(std::string_view table);

/// Sets one; notes a wrong type or range.
void apply_setting(Context& context, Sweep& sweep, std::string_view name, const PointValue& value,
                   const Place& place);

/// The same from a flag.
void apply_setting_text(Context& context, Sweep& sweep, std::string_view name,
                        std::string_view text, const Place& place);

}  // namespace kvmeter::sweep_detail

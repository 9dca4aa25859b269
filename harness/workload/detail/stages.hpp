// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The stages from text to points, in the order they run.
#pragma once

#include <string>
#include <string_view>

#include "harness/workload/detail/columns.hpp"

namespace kvmeter::sweep_detail {

/// TOML to a spec. What is not TOML at all throws at once, every other mistake is noted.
Spec read_toml(Context& context, std::string_view toml, const std::string& where);

/// Replaces values; `flag` makes the place of a message from a name, e.g. "--set batch".
void apply_overrides(Context& context, Spec& spec, const Overrides& overrides,
                     std::string (*flag)(std::string_view));

/// Multiplies the axes and applies the skip rules. \pre no mistakes so far
std::vector<SweepPoint> expand(Context& context, const Spec& spec, const Place& whole);

}  // namespace kvmeter::sweep_detail

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The table of what bytes are proportional to.
#pragma once

#include <string>

#include "harness/run/laws/report.hpp"

namespace kvmeter::laws {

/// A line per factor of the formula, with the worst of its families, and one for all points.
std::string factors_text(const Report& report);

}  // namespace kvmeter::laws

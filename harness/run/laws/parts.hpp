// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// How large each part of a cache's bytes may be at all, whatever they add up to.
#pragma once

#include <string>
#include <vector>

#include "harness/run/laws/cache_facts.hpp"

namespace kvmeter::laws {

/// Tokens follow from the point, scales from the rows; there is no staging without offloaded
/// layers, no sharing without a common prefix, no reserve once sequences have come to their ends;
/// blocks round up by less than a block, allocations by less than a word. A line for each part that
/// is larger (or, of tokens and scales, other) than that.
std::vector<std::string> part_mistakes(const CacheFacts& facts);

}  // namespace kvmeter::laws

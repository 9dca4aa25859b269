// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What a point's result depends on.
#pragma once

#include <string>
#include <vector>

#include "harness/run/setup.hpp"

namespace kvmeter::run {

/// What a change of must lead to another point hash, besides the point's own spelling: config,
/// weights, text, seed, program, and the number of threads that 0 stands for.
std::vector<std::string> hash_parts(const Setup& setup);

}  // namespace kvmeter::run

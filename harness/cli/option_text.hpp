// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// How options are spelled and described, the same for all commands.
#pragma once

#include <string>
#include <string_view>

#include "harness/core/point.hpp"

namespace kvmeter::cli {

/// "--prompt-tokens" for prompt_tokens.
std::string flag_of(std::string_view key);

/// Help, allowed values and default, broken into lines for the right-hand column.
std::string describe(const PointKey& key, const Point& defaults);

/// Breaks text at blanks into lines of at most `width` characters.
std::string wrapped(std::string_view text, std::size_t width = 70);

}  // namespace kvmeter::cli

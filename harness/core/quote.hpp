// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Lists in one line of text whose items may hold anything: an item with blanks or a separator in it
// stands in double quotes, in which \" \\ and \n are escapes. Outside quotes a backslash is itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvmeter {

/// The text in quotes if it is empty or holds a blank, a control character, a quote or the
/// separator.
std::string quote_if_needed(std::string_view text, char separator);

/// The items between separators, without their quotes. Throws UsageError on a quote left open.
std::vector<std::string> split_quoted(std::string_view text, char separator);

}  // namespace kvmeter

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What to say about a name that nobody knows: the nearest one that is known, and all that are.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace kvmeter {

/// The name that `text` is most likely a misspelling or a beginning of; empty if none is near.
std::string_view nearest_name(std::string_view text, std::span<const std::string_view> names);

/// "unknown cache 'pagd'; did you mean 'paged'? allowed: none, contiguous, paged"
std::string unknown_name(std::string_view what, std::string_view name,
                         std::span<const std::string_view> allowed);

}  // namespace kvmeter

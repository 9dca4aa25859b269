// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Progress and messages on stderr. Nobody reading them is no reason to stop: failures to write are
// ignored, where fmt::print would throw.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <utility>

namespace kvmeter {

template <class... Arguments>
void tell(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  const std::string text = fmt::format(format, std::forward<Arguments>(arguments)...);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace kvmeter

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/option_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kvmeter::cli {

std::string flag_of(std::string_view key) {
  std::string flag = fmt::format("--{}", key);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

std::string describe(const PointKey& key, const Point& defaults) {
  const std::string usual = to_text(get(defaults, key));
  return wrapped(fmt::format("{}: {}{}", key.help, key.values,
                             usual.empty() ? "" : fmt::format(" [{}]", usual)));
}

std::string wrapped(std::string_view text, std::size_t width) {
  std::string lines;
  while (text.size() > width) {
    const std::size_t blank = text.rfind(' ', width);
    if (blank == std::string_view::npos) break;
    lines += fmt::format("{}\n", text.substr(0, blank));
    text.remove_prefix(blank + 1);
  }
  return lines + std::string(text);
}

}  // namespace kvmeter::cli

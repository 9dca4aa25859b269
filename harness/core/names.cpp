// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/core/names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace kvmeter {
namespace {

bool same_letter(char a, char b) {
  return a == b || (a == '-' && b == '_');
}

/// Levenshtein: the least number of letters to insert, delete or replace.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (same_letter(a[i], b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view nearest_name(std::string_view text, std::span<const std::string_view> names) {
  std::string_view nearest;
  std::size_t least = text.size() / 3 + 2;  // as far as this is no misspelling any more
  for (const std::string_view name : names) {
    const bool begins = text.size() >= 3 && name.starts_with(text);
    const std::size_t distance = begins ? 1 : edits(text, name);
    if (distance < least && distance < name.size()) {
      least = distance;
      nearest = name;
    }
  }
  return nearest;
}

std::string unknown_name(std::string_view what, std::string_view name,
                         std::span<const std::string_view> allowed) {
  const std::string_view nearest = nearest_name(name, allowed);
  const std::string hint = nearest.empty() ? "" : fmt::format(" did you mean '{}'?", nearest);
  return fmt::format("unknown {} '{}';{} allowed: {}", what, name, hint, fmt::join(allowed, ", "));
}

}  // namespace kvmeter

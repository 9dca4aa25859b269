// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/workload/detail/mistakes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "harness/core/error.hpp"

namespace kvmeter::sweep_detail {

std::string Place::text() const {
  return line > 0 ? fmt::format("{}:{}", where, line) : where;
}

void Mistakes::add(Place place, std::string what) {
  std::ranges::replace(what, '\n', ' ');
  m_list.push_back({std::move(place), std::move(what)});
}

void Mistakes::throw_if_any() const {
  if (m_list.empty()) return;
  std::vector<Mistake> sorted = m_list;
  std::ranges::stable_sort(sorted, {}, [](const Mistake& mistake) {
    const std::int64_t line = mistake.place.line;
    return line > 0 ? line : std::numeric_limits<std::int64_t>::max();
  });
  std::string text;
  for (const Mistake& mistake : sorted) {
    if (!text.empty()) text += '\n';
    text += fmt::format("{}: {}", mistake.place.text(), mistake.what);
  }
  throw UsageError(text);
}

}  // namespace kvmeter::sweep_detail

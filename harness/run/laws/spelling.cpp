// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/laws/spelling.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/quote.hpp"

namespace kvmeter::laws {
namespace {

void append(std::string& text, std::string_view key, const PointValue& value) {
  text +=
      fmt::format("{}{}={}", text.empty() ? "" : " ", key, quote_if_needed(to_text(value), ' '));
}

}  // namespace

Spelling::Spelling(std::span<const PointRecord> records) {
  const Point defaults;
  for (const PointKey& key : point_keys()) {
    const auto same_as = [&](const Point& other) {
      return std::ranges::count_if(records, [&](const PointRecord& record) {
        return get(record.point, key) == get(other, key);
      });
    };
    const auto n = static_cast<std::ptrdiff_t>(records.size());
    if (n == 0 || same_as(records.front().point) == n) continue;
    m_keys.push_back({&key, 2 * same_as(defaults) > n});
  }
}

std::string Spelling::of(const Point& point, std::string_view left_out) const {
  std::string text;
  const Point defaults;
  bool elements_are_told = false;
  for (const auto& [key, is_mostly_default] : m_keys) {
    const PointValue value = get(point, *key);
    if (key->name == left_out || (is_mostly_default && value == get(defaults, *key))) continue;
    const bool is_element = key->name == "k_element" || key->name == "v_element";
    if (is_element && point.k_element == point.v_element) {
      if (!elements_are_told) append(text, "cache_element", value);
      elements_are_told = true;
    } else {
      append(text, key->name, value);
    }
  }
  return text.empty() ? canonical(point) : text;
}

}  // namespace kvmeter::laws

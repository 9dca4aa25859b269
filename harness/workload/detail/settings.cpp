// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/workload/detail/settings.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

namespace kvmeter::sweep_detail {
namespace {

struct Setting {
  std::string_view name;
  std::string_view values;
  double least = 0;
  double most = 0;
  bool whole = false;
  void (*store)(Sweep&, const PointValue&) = nullptr;
};

double number(const PointValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nan("");
}

std::int64_t whole(const PointValue& value) {
  return std::get<std::int64_t>(value);
}

constexpr double kBig = 1e15;

// Names and descriptions have no range and are stored as they come.
constexpr auto kSettings = std::to_array<Setting>({
    {"name", "a string", 0, 0, false, nullptr},
    {"description", "a string", 0, 0, false, nullptr},
    {"seed", "a whole number from 0 to 9e18", 0, 9e18, true,
     [](Sweep& s, const PointValue& v) { s.seed = static_cast<std::uint64_t>(whole(v)); }},
    {"stop.min_samples", "a whole number from 1", 1, 1e6, true,
     [](Sweep& s, const PointValue& v) { s.stop.min_samples = whole(v); }},
    {"stop.max_seconds", "seconds above 0", 1e-9, kBig, false,
     [](Sweep& s, const PointValue& v) { s.stop.max_seconds = number(v); }},
    {"stop.relative_noise", "a number from 0 to 1", 0, 1, false,
     [](Sweep& s, const PointValue& v) { s.stop.relative_noise = number(v); }},
    {"stop.trials", "a whole number from 1", 1, 1e6, true,
     [](Sweep& s, const PointValue& v) { s.stop.trials = whole(v); }},
    {"limits.point_seconds", "seconds, or 0 (no limit)", 0, kBig, false,
     [](Sweep& s, const PointValue& v) { s.limits.point_seconds = number(v); }},
    {"limits.memory_bytes", "bytes, or 0 (what the machine has)", 0, kBig, true,
     [](Sweep& s, const PointValue& v) { s.limits.memory_bytes = whole(v); }},
});

/// Was the whole text a number that its type holds?
bool is_all(std::string_view text, const std::from_chars_result& result) {
  return result.ec == std::errc{} && result.ptr == text.data() + text.size();
}

bool store_text(Sweep& sweep, std::string_view name, const PointValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (text != nullptr) (name == "name" ? sweep.name : sweep.description) = *text;
  return text != nullptr;
}

bool store(Sweep& sweep, const Setting& setting, const PointValue& value) {
  if (setting.store == nullptr) return store_text(sweep, setting.name, value);
  if (setting.whole && !std::holds_alternative<std::int64_t>(value)) return false;
  const double n = number(value);
  if (!(n >= setting.least && n <= setting.most)) return false;
  setting.store(sweep, value);
  return true;
}

}  // namespace

std::vector<std::string_view> setting_names() {
  std::vector<std::string_view> names;
  for (const Setting& setting : kSettings) names.push_back(setting.name);
  return names;
}

std::vector<std::string_view> setting_names(std::string_view table) {
  std::vector<std::string_view> names;
  for (const Setting& setting : kSettings) {
    const std::size_t dot = setting.name.find('.');
    const bool in_table = dot != std::string_view::npos;
    if (table.empty() ? in_table : !in_table || setting.name.substr(0, dot) != table) continue;
    names.push_back(in_table ? setting.name.substr(dot + 1) : setting.name);
  }
  return names;
}

void apply_setting(Context& context, Sweep& sweep, std::string_view name, const PointValue& value,
                   const Place& place) {
  for (const Setting& setting : kSettings) {
    if (setting.name != name || store(sweep, setting, value)) continue;
    const bool text = std::holds_alternative<std::string>(value);
    context.mistakes.add(
        place,
        fmt::format("{} = {}: not allowed; allowed: {}", name,
                    text ? fmt::format("\"{}\"", to_text(value)) : to_text(value), setting.values));
  }
}

void apply_setting_text(Context& context, Sweep& sweep, std::string_view name,
                        std::string_view text, const Place& place) {
  const char* const end = text.data() + text.size();
  PointValue value = std::string(text);
  std::int64_t whole_number = 0;
  double real = 0;
  if (text.empty() || name == "name" || name == "description") {
  } else if (is_all(text, std::from_chars(text.data(), end, whole_number))) {
    value = whole_number;
  } else if (is_all(text, std::from_chars(text.data(), end, real))) {
    value = real;
  }
  apply_setting(context, sweep, name, value, place);
}

}  // namespace kvmeter::sweep_detail

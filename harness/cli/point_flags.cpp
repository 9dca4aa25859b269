// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/point_flags.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/cli/option_text.hpp"
#include "harness/core/error.hpp"

namespace kvmeter::cli {
namespace {

std::pair<std::string, std::string> split_setting(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw UsageError(fmt::format("--set {}: expected key=value or key=v1,v2", text));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// CLI11 takes the next option for the value where a value is left out.
void refuse_option(const std::string& key, const std::string& value) {
  const bool is_option =
      value.size() >= 2 && value[0] == '-' && value.find_first_of("0123456789.") != 1;
  if (is_option) throw UsageError(fmt::format("{}: expected a value, not {}", flag_of(key), value));
}

}  // namespace

PointFlags::Flag& PointFlags::add_flag(CLI::App& command, std::string_view key,
                                       const std::string& description) {
  Flag& flag = m_flags.emplace_back();
  flag.key = key;
  flag.option = command.add_option(flag_of(key), flag.value, description)
                    ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);  // given() refuses two
  return flag;
}

void PointFlags::add(CLI::App& command, const Point& defaults, const std::string& value,
                     const std::vector<std::string_view>& keys) {
  for (const PointKey& key : point_keys()) {
    if (!keys.empty() && std::ranges::find(keys, key.name) == keys.end()) continue;
    add_flag(command, key.name, describe(key, defaults));
    command.get_option(flag_of(key.name))->type_name(value)->group(std::string(key.group));
    if (key.name != "v_element") continue;
    add_flag(command, "cache_element", "sets k_element and v_element");
    command.get_option("--cache-element")->type_name(value)->group(std::string(key.group));
  }
}

void PointFlags::add_set(CLI::App& command) {
  m_set = command
              .add_option("--set", m_settings,
                          wrapped("replaces a key of the sweep file, or a setting: seed, "
                                  "stop.max_seconds, ...; may be given several times"))
              ->type_name("KEY=V[,V..]")
              ->allow_extra_args(false)
              ->group("Sweep");
}

Overrides PointFlags::given(const CLI::App& command) const {
  Overrides overrides;
  auto setting = m_settings.begin();
  std::vector<const CLI::Option*> seen;
  for (const CLI::Option* option : command.parse_order()) {
    if (option == m_set && setting != m_settings.end())
      overrides.push_back(split_setting(*setting++));
    const auto flag = std::ranges::find(m_flags, option, &Flag::option);
    if (flag == m_flags.end()) continue;
    if (std::ranges::find(seen, option) != seen.end())
      throw UsageError(fmt::format("{}: given more than once; expected once", flag_of(flag->key)));
    seen.push_back(option);
    refuse_option(flag->key, flag->value);
    overrides.emplace_back(flag->key, flag->value);
  }
  return overrides;
}

}  // namespace kvmeter::cli

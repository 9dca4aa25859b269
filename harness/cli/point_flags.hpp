// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// A flag for every key of a point, made from the table of keys.
#pragma once

#include <CLI/CLI.hpp>
#include <list>
#include <string>
#include <vector>

#include "harness/workload/sweep.hpp"

namespace kvmeter::cli {

class PointFlags {
 public:
  /// Adds flags for these keys, all of them if none is named, and --cache-element. `value` stands
  /// for the value in help texts.
  void add(CLI::App& command, const Point& defaults, const std::string& value,
           const std::vector<std::string_view>& keys = {});

  /// Adds --set key=v1,v2.
  void add_set(CLI::App& command);

  /// What was given, in the order of the command line. Throws UsageError on a --set without '='.
  [[nodiscard]] Overrides given(const CLI::App& command) const;

 private:
  struct Flag {
    std::string key;
    std::string value;
    const CLI::Option* option = nullptr;
  };
  Flag& add_flag(CLI::App& command, std::string_view key, const std::string& description);

  std::list<Flag> m_flags;  // addresses of values must not move
  std::vector<std::string> m_settings;
  const CLI::Option* m_set = nullptr;
};

}  // namespace kvmeter::cli

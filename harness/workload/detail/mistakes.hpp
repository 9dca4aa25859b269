// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Everything that is wrong with a sweep, gathered so that all of it is told at once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kvmeter::sweep_detail {

/// Where something was given: a line of a file, or a flag (line 0).
struct Place {
  std::string where;
  std::int64_t line = 0;

  [[nodiscard]] std::string text() const;  // "sweep.toml:12" or "--batch"
};

class Mistakes {
 public:
  void add(Place place, std::string what);
  [[nodiscard]] bool empty() const { return m_list.empty(); }

  /// Throws UsageError with a line for each, in the order of the file, flags last; nothing if there
  /// is none.
  void throw_if_any() const;

 private:
  struct Mistake {
    Place place;
    std::string what;
  };
  std::vector<Mistake> m_list;
};

}  // namespace kvmeter::sweep_detail

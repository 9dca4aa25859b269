// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What plan and run have in common: where the points come from, and which of them.
#pragma once

#include <string>

#include "harness/cli/point_flags.hpp"

namespace kvmeter::cli {

class SweepArguments {
 public:
  void add(CLI::App& command);

  /// The sweep of the file, of --point, or of flags alone. Throws UsageError.
  [[nodiscard]] Sweep read(const CLI::App& command) const;

 private:
  std::string m_file, m_point, m_shard;
  PointFlags m_flags;
};

}  // namespace kvmeter::cli

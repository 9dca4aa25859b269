// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The clock of everything that is timed. No other folder reads one.
#pragma once

#include <chrono>

namespace kvmeter::measure {

using Clock = std::chrono::steady_clock;

/// Seconds since it was made or restarted.
class Stopwatch {
 public:
  void restart() { m_start = Clock::now(); }
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(Clock::now() - m_start).count();
  }

 private:
  Clock::time_point m_start = Clock::now();
};

}  // namespace kvmeter::measure

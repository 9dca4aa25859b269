// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The live line on stderr: which point of how many, elapsed, remaining. One line rewritten on a
// terminal, one line per point elsewhere.
#pragma once

#include <cstdint>
#include <string>

#include "harness/core/record.hpp"
#include "harness/measure/clock.hpp"

namespace kvmeter::run {

class Progress {
 public:
  /// \param expected_s seconds that the whole sweep is predicted to take
  Progress(std::int64_t n_points, double expected_s);

  /// A point begins; `expected_s` is what it is predicted to take.
  void begin(std::int64_t index, const std::string& point, double expected_s);
  void end(const PointRecord& record);
  /// A point that was not run.
  void skip(std::int64_t index, const std::string& point, const std::string& why);

 private:
  [[nodiscard]] double remaining_s() const;
  void print(const std::string& line, bool final) const;

  std::int64_t m_n_points;
  double m_expected_left_s;  // by prediction, of points not yet begun and the one that runs
  double m_predicted_s = 0;  // of points that ran
  double m_measured_s = 0;   // what they took
  double m_current_s = 0;    // predicted for the point that runs
  std::int64_t m_index = 0;
  std::string m_point;
  bool m_terminal;
  measure::Stopwatch m_total;
  measure::Stopwatch m_this_point;
};

}  // namespace kvmeter::run

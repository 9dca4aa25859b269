// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Mean and standard error of values that come one by one and are not kept.
#pragma once

#include <cmath>
#include <cstdint>

namespace kvmeter::measure {

/// B. P. Welford, "Note on a method for calculating corrected sums of squares and products", 1962.
/// A NaN makes both results NaN.
class RunningMean {
 public:
  void add(double value) {
    ++m_n;
    const double before = value - m_mean;
    m_mean += before / static_cast<double>(m_n);
    m_squares += before * (value - m_mean);
  }

  [[nodiscard]] std::int64_t n() const { return m_n; }
  [[nodiscard]] double mean() const { return m_n > 0 ? m_mean : NAN; }

  /// sd / sqrt(n), with the sample's sd (n - 1). NaN for fewer than 2 values.
  [[nodiscard]] double standard_error() const {
    if (m_n < 2) return NAN;
    const auto n = static_cast<double>(m_n);
    return std::sqrt(m_squares / (n - 1) / n);
  }

 private:
  std::int64_t m_n = 0;
  double m_mean = 0;
  double m_squares = 0;  // sum of (value - mean)^2
};

}  // namespace kvmeter::measure

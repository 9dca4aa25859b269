// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What the machine can do, measured once for each set of conditions that points run under.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "harness/run/expected_time.hpp"
#include "harness/run/peak.hpp"

namespace kvmeter::run {

/// Bandwidth and matmul rate at a point's back end, threads, element and shapes.
struct Conditions {
  measure::Peak peak;
  std::vector<measure::MatmulShape> shapes;
  std::vector<Element> elements;  // that weights of the point's can be multiplied as

  /// Bandwidth of reading a buffer of `bytes`; none where nothing was measured.
  [[nodiscard]] std::optional<double> bandwidth_at(double bytes) const {
    return measure::read_bandwidth_at(peak, bytes);
  }
  /// The best rate over those elements: without AMX bf16 weights are multiplied faster as f32.
  [[nodiscard]] std::optional<double> matmul_rate() const;
  [[nodiscard]] Rates rates() const;
};

class Peaks {
 public:
  /// Measures on first use, about 1.5 s.
  const Conditions& at(const Setup& setup);

 private:
  std::map<std::string, Conditions> m_measured;
};

}  // namespace kvmeter::run

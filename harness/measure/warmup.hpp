// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Which samples are warm-up: kept, flagged, left out of every statistic.
#pragma once

#include <cstdint>

namespace kvmeter::measure {

/// The first generation touches pages, fills caches and builds what libraries build once. So far
/// every later one counts as steady; detecting the steady state belongs here.
class Warmup {
 public:
  /// Tells that a generation is over.
  void finish_generation() { ++m_n_generations; }
  [[nodiscard]] bool active() const { return m_n_generations < 1; }

 private:
  std::int64_t m_n_generations = 0;
};

}  // namespace kvmeter::measure

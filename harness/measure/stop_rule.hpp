// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Decides when a point has been sampled enough, and says why. It is told the time and reads no
// clock, so that its decisions can be tested.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "harness/core/enums.hpp"
#include "harness/core/stop.hpp"

namespace kvmeter::measure {

enum class StopReason { samples, noise, cap };

/// As the result variable stop_reason spells it.
std::string_view name_of(StopReason reason);

/// Fed with the samples of one point as they come.
class StopDecision {
 public:
  /// `phases` are those that the point has; each of them has to be sampled enough.
  StopDecision(const StopRule& rule, std::vector<Phase> phases);

  /// One sample. \pre not a warm-up sample
  void add(Phase phase, double time_s);

  /// A whole generation was added. Generations are alike: a phase that this one did not have is
  /// waited for no more, as decoding of sequences that end with their first token.
  void finish_generation();

  /// Why to stop, or nothing: go on.
  /// samples: every phase has min_samples, and the relative noise that can be told is under the
  /// target.
  /// cap: max_seconds are over, and every phase has a sample at least.
  /// \param elapsed_s since the sampling of this point began, warm-up included
  [[nodiscard]] std::optional<StopReason> reason(double elapsed_s) const;

  /// The largest relative noise of the phases that have samples enough to tell; none if none has.
  [[nodiscard]] std::optional<double> noise() const;

 private:
  [[nodiscard]] const std::vector<double>& samples(Phase phase) const;
  [[nodiscard]] bool each_has(std::size_t count) const;

  StopRule m_rule;
  std::vector<Phase> m_phases;
  std::array<std::vector<double>, EnumNames<Phase>::values.size()> m_samples;  // [phase][sample] s
};

}  // namespace kvmeter::measure

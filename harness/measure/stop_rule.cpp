// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/stop_rule.hpp"

#include <algorithm>
#include <utility>

#include "harness/measure/statistics.hpp"

namespace kvmeter::measure {

std::string_view name_of(StopReason reason) {
  static constexpr std::array<std::string_view, 3> names{"samples", "noise", "cap"};
  return names[static_cast<std::size_t>(reason)];
}

StopDecision::StopDecision(const StopRule& rule, std::vector<Phase> phases)
    : m_rule(rule), m_phases(std::move(phases)) {}

void StopDecision::add(Phase phase, double time_s) {
  m_samples[static_cast<std::size_t>(phase)].push_back(time_s);
}

void StopDecision::finish_generation() {
  std::erase_if(m_phases, [&](Phase phase) { return samples(phase).empty(); });
}

const std::vector<double>& StopDecision::samples(Phase phase) const {
  return m_samples[static_cast<std::size_t>(phase)];
}

bool StopDecision::each_has(std::size_t count) const {
  return std::ranges::all_of(m_phases, [&](Phase phase) { return samples(phase).size() >= count; });
}

std::optional<double> StopDecision::noise() const {
  std::optional<double> most;
  for (const Phase phase : m_phases)
    if (const auto noise = relative_noise(samples(phase)))
      most = std::max(most.value_or(0), *noise);
  return most;
}

std::optional<StopReason> StopDecision::reason(double elapsed_s) const {
  if (each_has(static_cast<std::size_t>(std::max<std::int64_t>(1, m_rule.min_samples)))) {
    // Where no phase has as many samples as an interval takes, noise cannot be told.
    const auto now = noise();
    if (!now || *now <= m_rule.relative_noise) return StopReason::samples;
  }
  if (elapsed_s >= m_rule.max_seconds && each_has(1)) return StopReason::cap;
  return std::nullopt;
}

}  // namespace kvmeter::measure

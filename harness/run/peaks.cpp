// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/peaks.hpp"

#include <fmt/format.h>

#include "harness/exec/threads.hpp"

namespace kvmeter::run {

Rates Conditions::rates() const {
  constexpr double guess_bytes_per_s = 10e9;  // where nothing was measured: a plan is better than none
  constexpr double guess_flops_per_s = 100e9;
  return {measure::read_bandwidth(peak).value_or(guess_bytes_per_s),
          matmul_rate().value_or(guess_flops_per_s)};
}

const Conditions& Peaks::at(const Setup& s) {
  const Element element = s.element == Element::bf16 ? Element::bf16 : Element::f32;
  const std::string key = fmt::format("{} {} {} {} {} {} {}", name_of(s.backend), s.point.threads,
                                      name_of(element), s.config.hidden_dim, s.config.ffn_dim,
                                      s.config.q_dim(), s.config.kv_dim());
  const auto found = m_measured.find(key);
  if (found != m_measured.end()) return found->second;
  Conditions conditions{{}, matmul_shapes(s.config), element};
  const measure::PeakPlan plan = measure::quick_plan(conditions.shapes, {element});
  conditions.peak = visit_backend(s.backend, [&](auto tag) {
    using Exec = typename decltype(tag)::type;
    return measure::measure_peak(make_exec<Exec>(s.point.threads), plan);
  });
  return m_measured.emplace(key, std::move(conditions)).first->second;
}

}  // namespace kvmeter::run

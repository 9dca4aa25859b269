// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/peaks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "harness/core/tell.hpp"
#include "harness/exec/threads.hpp"

namespace kvmeter::run {

Rates Conditions::rates() const {
  constexpr double guess_bytes_per_s =
      10e9;  // where nothing was measured: a plan is better than none
  constexpr double guess_flops_per_s = 100e9;
  return {measure::read_bandwidth(peak).value_or(guess_bytes_per_s),
          matmul_rate().value_or(guess_flops_per_s)};
}

std::optional<double> Conditions::matmul_rate() const {
  std::optional<double> best;
  for (const Element element : elements)
    if (const auto rate = measure::matmul_rate(peak, element, shapes))
      best = std::max(best.value_or(0), *rate);
  return best;
}

const Conditions& Peaks::at(const Setup& s) {
  Conditions conditions{{}, matmul_shapes(s.config), {Element::f32}};
  if (s.element == Element::bf16) conditions.elements.push_back(Element::bf16);
  const std::int64_t most_bytes =
      weights_bytes(weights_config(s), s.element) +
      predict_footprint(s.recipe, s.cache, held_tokens(s)).allocated_bytes();
  const measure::PeakPlan plan =
      measure::quick_plan(conditions.shapes, conditions.elements, most_bytes);
  const std::string key =
      fmt::format("{} {} {} {} {} {} {} {}", name_of(s.backend), s.point.threads,
                  name_of(s.element), s.config.hidden_dim, s.config.ffn_dim, s.config.q_dim(),
                  s.config.kv_dim(), plan.buffer_bytes.size());
  const auto found = m_measured.find(key);
  if (found != m_measured.end()) return found->second;
  tell("measuring what this machine can do: {}, {}\n", name_of(s.backend), s.files.name);
  conditions.peak = visit_backend(s.backend, [&](auto tag) {
    using Exec = typename decltype(tag)::type;
    return measure::measure_peak(make_exec<Exec>(s.point.threads), plan);
  });
  return m_measured.emplace(key, std::move(conditions)).first->second;
}

}  // namespace kvmeter::run

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "harness/core/tell.hpp"
#include "harness/core/units.hpp"

namespace kvmeter::run {
namespace {

/// What a reader wants to know of a finished point.
std::string outcome(const PointRecord& record) {
  if (record.status != Status::ok)
    return fmt::format("{}: {}", name_of(record.status), record.message);
  std::string text;
  const auto add = [&](const char* label, const char* variable) {
    if (const auto seconds = find_value<double>(record, variable))
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", label, format_seconds(*seconds));
  };
  add("ttft", "ttft_s");
  add("itl", "itl_s");
  return text;
}

}  // namespace

Progress::Progress(std::int64_t n_points, double expected_s)
    : m_n_points(n_points), m_expected_left_s(expected_s), m_terminal(isatty(STDERR_FILENO) == 1) {}

void Progress::begin(std::int64_t index, const std::string& point, double expected_s) {
  m_index = index;
  m_point = point;
  m_current_s = expected_s;
  m_this_point.restart();
  if (m_terminal)
    print(fmt::format("[{}/{}] {}  elapsed {}, about {} left", index + 1, m_n_points, point,
                      format_seconds(m_total.seconds()), format_seconds(remaining_s())),
          false);
}

void Progress::end(const PointRecord& record) {
  m_expected_left_s -= m_current_s;
  if (record.status == Status::ok) {  // one that was refused or failed tells nothing of the rest
    m_predicted_s += m_current_s;
    m_measured_s += m_this_point.seconds();
  }
  const bool last = m_index + 1 == m_n_points;
  const std::string left =
      last ? "" : fmt::format(", about {} left", format_seconds(remaining_s()));
  print(fmt::format("[{}/{}] {}  {}  (elapsed {}{})", m_index + 1, m_n_points, m_point,
                    outcome(record), format_seconds(m_total.seconds()), left),
        true);
}

void Progress::skip(std::int64_t index, const std::string& point, const std::string& why) {
  print(fmt::format("[{}/{}] {}  {}", index + 1, m_n_points, point, why), true);
}

/// The prediction for what is left, corrected by how the prediction fared so far.
double Progress::remaining_s() const {
  const double correction = m_predicted_s > 0 ? m_measured_s / m_predicted_s : 1.0;
  return std::max(0.0, m_expected_left_s * correction);
}

void Progress::print(const std::string& line, bool final) const {
  const char* before = m_terminal ? "\r\x1b[K" : "";
  tell("{}{}{}", before, line, final ? "\n" : "");
  std::fflush(stderr);
}

}  // namespace kvmeter::run

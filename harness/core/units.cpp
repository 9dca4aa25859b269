// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/core/units.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

namespace kvmeter {
namespace {

/// Three significant digits of `value`, scaled down by `step` until it is printed below it.
template <std::size_t N>
std::string scaled(double value, double step, const std::array<std::string_view, N>& units) {
  std::size_t i = 0;
  while (std::abs(value) >= step - 0.5 && i + 1 < N) {
    value /= step;
    ++i;
  }
  const int digits = std::abs(value) >= 99.95 ? 0 : std::abs(value) >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, digits, units[i]);
}

}  // namespace

std::string format_bytes(std::int64_t bytes) {
  if (std::abs(bytes) < 1024) return fmt::format("{} B", bytes);
  static constexpr std::array<std::string_view, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  return scaled(static_cast<double>(bytes), 1024.0, units);
}

std::string format_seconds(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  if (seconds >= 60) {
    const auto whole = static_cast<std::int64_t>(std::llround(seconds));
    if (whole >= 3600) return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
    return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  }
  static constexpr std::array<std::string_view, 4> units{"ns", "us", "ms", "s"};
  return scaled(seconds * 1e9, 1000.0, units);
}

std::string format_bandwidth(double bytes_per_s) {
  static constexpr std::array<std::string_view, 5> units{"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
  return scaled(bytes_per_s, 1000.0, units);
}

std::string format_flop_rate(double flops_per_s) {
  static constexpr std::array<std::string_view, 5> units{"FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s",
                                                         "TFLOP/s"};
  return scaled(flops_per_s, 1000.0, units);
}

std::string format_count(std::int64_t count) {
  std::string digits = fmt::format("{}", count);
  const std::size_t first = count < 0 ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

}  // namespace kvmeter

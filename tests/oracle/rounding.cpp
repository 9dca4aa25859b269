// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/rounding.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace kvmeter::oracle {
namespace {

Rounding each(double (*round)(double)) {
  return [round](std::span<double> row) {
    for (double& x : row) x = round(x);
  };
}

/// x becomes q * s: s = absmax / levels in f32, rounded again, q = x / s to the nearest integer.
void round_group(std::span<double> group, double levels, double (*round_scale)(double)) {
  double largest = 0;
  for (const double x : group) largest = std::max(largest, std::abs(x));
  const double scale = round_scale(round_f32(largest / levels));
  for (double& x : group)
    x = scale == 0 ? 0 : round_f32(std::clamp(std::nearbyint(x / scale), -levels, levels) * scale);
}

Rounding groups(std::size_t length, double levels, double (*round_scale)(double)) {
  return [=](std::span<double> row) {
    for (std::size_t first = 0; first < row.size(); first += length)
      round_group(row.subspan(first, std::min(length, row.size() - first)), levels, round_scale);
  };
}

}  // namespace

double round_binary(double x, int digits, int least_exponent, double largest) {
  if (x == 0 || !std::isfinite(x)) return x;
  const int exponent = std::max(std::ilogb(x), least_exponent);  // 2^exponent <= |x|
  const double unit = std::ldexp(1.0, exponent - digits + 1);
  return std::clamp(std::nearbyint(x / unit) * unit, -largest, largest);
}

double round_f32(double x) {
  return round_binary(x, 24, -126, std::ldexp(2 - 0x1p-23, 127));
}
double round_f16(double x) {
  return round_binary(x, 11, -14, 65504);
}
double round_bf16(double x) {
  return round_binary(x, 8, -126, std::ldexp(2 - 0x1p-7, 127));
}
double round_fp8_e4m3(double x) {
  return round_binary(x, 4, -6, 448);
}

Rounding rounding_of(std::string_view element) {
  if (element == "none") return [](std::span<double>) {};
  if (element == "f32") return each(round_f32);
  if (element == "f16") return each(round_f16);
  if (element == "bf16") return each(round_bf16);
  if (element == "fp8_e4m3") return each(round_fp8_e4m3);
  if (element == "int8") return groups(32, 127, round_f16);
  if (element == "int4") return groups(32, 7, round_f16);
  if (element == "int8_row") return groups(static_cast<std::size_t>(-1), 127, round_f32);
  throw std::invalid_argument("oracle: no rounding is defined for " + std::string(element));
}

}  // namespace kvmeter::oracle

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/rope.hpp"

#include <cmath>
#include <numbers>

namespace kvmeter::oracle {

double scale_llama3(double frequency, const Llama3RopeScaling& scaling) {
  const double turns =
      static_cast<double>(scaling.original_positions) * frequency / (2 * std::numbers::pi);
  if (turns > scaling.high_freq_factor) return frequency;
  if (turns < scaling.low_freq_factor) return frequency / scaling.factor;
  const double unscaled =
      (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
  return unscaled * frequency + (1 - unscaled) * frequency / scaling.factor;
}

Vector rope_frequencies(const ModelConfig& config) {
  Vector frequencies;
  for (std::int64_t i = 0; i < config.head_dim / 2; ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(config.head_dim);
    const double frequency = std::pow(config.rope_theta, exponent);
    frequencies.push_back(config.rope_scaling ? scale_llama3(frequency, *config.rope_scaling)
                                              : frequency);
  }
  return frequencies;
}

void rotate(std::span<double> head, std::int64_t position, std::span<const double> frequencies) {
  const std::size_t half = head.size() / 2;
  for (std::size_t i = 0; i < half; ++i) {
    const double angle = static_cast<double>(position) * frequencies[i];
    const double a = head[i];
    const double b = head[i + half];
    head[i] = a * std::cos(angle) - b * std::sin(angle);
    head[i + half] = b * std::cos(angle) + a * std::sin(angle);
  }
}

}  // namespace kvmeter::oracle

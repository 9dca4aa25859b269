// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "harness/model/decoder.hpp"

namespace kvmeter {
namespace {

/// Long wavelengths are stretched by the factor, short ones kept, and those between blended. "The
/// Llama 3 herd of models", 2024, as Hugging Face checkpoints parametrise it.
double scaled(double frequency, const Llama3RopeScaling& scaling) {
  const double wavelength = 2 * std::numbers::pi / frequency;
  const auto original = static_cast<double>(scaling.original_positions);
  if (wavelength < original / scaling.high_freq_factor) return frequency;
  if (wavelength > original / scaling.low_freq_factor) return frequency / scaling.factor;
  const double share = (original / wavelength - scaling.low_freq_factor) /
                       (scaling.high_freq_factor - scaling.low_freq_factor);
  return (1 - share) * frequency / scaling.factor + share * frequency;
}

}  // namespace

std::vector<double> rope_frequencies(const ModelConfig& config) {
  std::vector<double> frequencies(static_cast<std::size_t>(config.head_dim / 2));
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(config.head_dim);
    frequencies[i] = std::pow(config.rope_theta, -exponent);
    if (config.rope_scaling) frequencies[i] = scaled(frequencies[i], *config.rope_scaling);
  }
  return frequencies;
}

}  // namespace kvmeter

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Rotary positions: dimensions i and i + head_dim / 2 of a head turn by position * frequency[i].
#pragma once

#include <span>

#include "harness/model/config.hpp"
#include "tests/oracle/tensor.hpp"

namespace kvmeter::oracle {

/// frequency[i] = theta^(-2 i / head_dim) for i < head_dim / 2, [radians per position], scaled as
/// Llama 3 does where the configuration says so.
Vector rope_frequencies(const ModelConfig& config);

/// One frequency under Llama 3 scaling: unchanged where it turns at least high_freq_factor times
/// over the original positions, divided by factor where less than low_freq_factor times, and a
/// linear blend of the two in between.
double scale_llama3(double frequency, const Llama3RopeScaling& scaling);

/// Turns one head [head_dim] in place.
void rotate(std::span<double> head, std::int64_t position, std::span<const double> frequencies);

}  // namespace kvmeter::oracle

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The peaks that points are held against: the shapes to measure matmuls at, and what result files
// say of a peak. The command that prints them is run::peak (commands.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/record.hpp"
#include "harness/measure/peak.hpp"
#include "harness/model/config.hpp"

namespace kvmeter::run {

inline constexpr std::int64_t peak_rows = 512;  // tokens of the prefill whose shapes are measured

/// The linear layers of the model's transformer blocks at `rows` tokens, q, k and v as one, gate
/// and up as one. Without the last one over the vocabulary: in a prefill it sees one row per
/// sequence.
std::vector<measure::MatmulShape> matmul_shapes(const ModelConfig& config,
                                                std::int64_t rows = peak_rows);

/// peak_read_bandwidth, peak_matmul_rate and their curves, as in the result schema; what was not
/// measured is absent.
Attributes peak_attributes(const measure::Peak& peak, std::optional<double> matmul_rate);

}  // namespace kvmeter::run

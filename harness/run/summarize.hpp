// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// From samples, sizes and costs to the values of a record.
#pragma once

#include "harness/core/record.hpp"
#include "harness/run/peaks.hpp"
#include "harness/run/prediction.hpp"
#include "harness/run/setup.hpp"

namespace kvmeter::run {

/// What was asked for and what it came to: shapes, elements, kernels.
void describe(const Setup& setup, PointRecord& record);

/// Medians with their intervals, rates, and how near they come to what bounds them. Warm-up samples
/// are left out. \param generations seconds of each whole generation, warm-up left out
void summarize(const Setup& setup, const Prediction& prediction, const Conditions& conditions,
               const std::vector<double>& generations, PointRecord& record);

}  // namespace kvmeter::run

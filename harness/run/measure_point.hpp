// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Runs one point: builds it, checks its first steps, warms up, samples until the stop rule, and
// fills its record.
#pragma once

#include "harness/core/record.hpp"
#include "harness/core/stop.hpp"
#include "harness/run/peaks.hpp"
#include "harness/run/setup.hpp"
#include "harness/run/weights_store.hpp"

namespace kvmeter::run {

/// What outlives a point.
struct Bench {
  WeightsStore weights;
  Peaks peaks;
};

/// The record holds what happened whatever it was: failures become its status and message, nothing
/// is thrown that a point can die of.
PointRecord measure_point(const Setup& setup, const StopRule& rule, const Limits& limits,
                          Bench& bench);

}  // namespace kvmeter::run

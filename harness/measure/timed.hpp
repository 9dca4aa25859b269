// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The one way in which a step is timed: fence, clock, run, fence, clock.
#pragma once

#include <utility>

#include "harness/measure/clock.hpp"

namespace kvmeter::measure {

/// Seconds that run() took on the instance, work that it queued included. Watch is another clock in
/// tests.
template <class Watch = Stopwatch, class Exec, class Run>
double time_step(const Exec& exec, Run&& run) {
  exec.fence("kvmeter::measure::before_step");  // nothing earlier may be charged to the step
  const Watch watch;
  std::forward<Run>(run)();
  exec.fence("kvmeter::measure::after_step");  // the step is over when its kernels are
  return watch.seconds();
}

}  // namespace kvmeter::measure

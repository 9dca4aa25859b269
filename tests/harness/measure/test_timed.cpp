// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "harness/exec/spaces.hpp"
#include "harness/measure/timed.hpp"

namespace kvmeter::measure {
namespace {

std::vector<std::string>& events() {
  static std::vector<std::string> list;
  return list;
}

struct FakeExec {
  void fence(const std::string& label) const { events().push_back("fence " + label); }
};

struct FakeWatch {
  FakeWatch() { events().emplace_back("start"); }
  [[nodiscard]] double seconds() const {
    events().emplace_back("stop");
    return 42;
  }
};

TEST_CASE("a step is timed between two labelled fences", "[cpu]") {
  events().clear();
  CHECK(time_step<FakeWatch>(FakeExec{}, [] { events().emplace_back("run"); }) == 42);
  CHECK(events() == std::vector<std::string>{"fence kvmeter::measure::before_step", "start", "run",
                                             "fence kvmeter::measure::after_step", "stop"});
}

TEST_CASE("the time of a step on a Kokkos space is not negative", "[cpu]") {
  CHECK(time_step(Kokkos::Serial(), [] {}) >= 0);
  const Stopwatch watch;
  const double early = watch.seconds();
  CHECK(early <= watch.seconds());
}

}  // namespace
}  // namespace kvmeter::measure

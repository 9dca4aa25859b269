// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/rope.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <numbers>

#include "tests/support/all_close.hpp"

namespace kvmeter::oracle {
namespace {

using std::numbers::pi;
using test::AllClose;

TEST_CASE("rotate: partners are half a head apart") {
  Vector head{1, 2, 0, 0};
  // Position 3 times pi/6 is a quarter turn, times pi/3 half a turn.
  rotate(head, 3, Vector{pi / 6, pi / 3});
  CHECK_THAT(head, AllClose(Vector{0, -2, 1, 0}, 1e-15));
}

TEST_CASE("rotate: position 0 changes nothing, and positions add up") {
  const Vector frequencies{1, 0.1, 0.01};
  Vector head{1, -2, 3, 4, 5, -6};
  const Vector before = head;
  rotate(head, 0, frequencies);
  CHECK(head == before);
  Vector at_once = before;
  rotate(head, 5, frequencies);
  rotate(head, 7, frequencies);
  rotate(at_once, 12, frequencies);
  CHECK_THAT(head, AllClose(at_once, 1e-14));
}

TEST_CASE("rope_frequencies are powers of theta") {
  ModelConfig config;
  config.head_dim = 8;
  config.rope_theta = 10000;
  CHECK_THAT(rope_frequencies(config), AllClose(Vector{1, 0.1, 0.01, 0.001}, 1e-15));
}

TEST_CASE("scale_llama3: kept, divided, and blended in between") {
  const Llama3RopeScaling scaling{8, 1, 4, 128};
  const auto turning = [](double turns) { return 2 * pi * turns / 128; };  // over 128 positions
  const auto scaled = [&](double turns) { return scale_llama3(turning(turns), scaling); };
  CHECK(scaled(4.001) == turning(4.001));
  CHECK(scaled(20) == turning(20));
  CHECK(scaled(0.999) == turning(0.999) / 8);
  // 2.5 turns are half way from 1 to 4: half of it, plus half of an eighth.
  CHECK(std::abs(scaled(2.5) - turning(2.5) * (0.5 + 0.5 / 8)) < 1e-15);
  // No jump at either end.
  CHECK(std::abs(scaled(4) - turning(4)) < 1e-15);
  CHECK(std::abs(scaled(1) - turning(1) / 8) < 1e-15);
}

}  // namespace
}  // namespace kvmeter::oracle

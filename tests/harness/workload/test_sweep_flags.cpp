// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>

#include "harness/core/error.hpp"
#include "harness/workload/sweep.hpp"

using namespace kvmeter;
using Catch::Matchers::Message;

TEST_CASE("lists of flags are axes in the order given", "[cpu]") {
  const Sweep sweep = sweep_from_flags(
      {{"model", "tiny"}, {"cache", "none,contiguous"}, {"batch", "1, 2"}, {"stop.trials", "3"}},
      {});
  REQUIRE(sweep.points.size() == 4);
  CHECK(canonical(sweep.points[1].point) == "model=tiny cache=none batch=2");
  CHECK(canonical(sweep.points[2].point) == "model=tiny");
  CHECK(sweep.name == "flags");
  CHECK(sweep.stop.trials == 3);
}

TEST_CASE("a comma in quotes is part of a value", "[cpu]") {
  const Sweep sweep = sweep_from_flags({{"model", "tiny"}, {"text", "\"a, b\",c"}}, {});
  REQUIRE(sweep.points.size() == 2);
  CHECK(sweep.points[0].point.text == "a, b");
  CHECK(sweep.points[1].point.text == "c");
}

TEST_CASE("a sweep of one point has that point", "[cpu]") {
  Point point;
  point.model = "my models/a,b";
  point.batch = 3;
  const Sweep sweep = sweep_from_point(canonical(point), {{"seed", "9"}}, {});
  REQUIRE(sweep.points.size() == 1);
  CHECK(sweep.points[0].point == point);
  CHECK(sweep.seed == 9);
  CHECK_THROWS_AS(sweep_from_point("model=a batch=2", {{"batch", "3"}}, {}), UsageError);
}

TEST_CASE("mistakes in flags name the flag", "[cpu]") {
  CHECK_THROWS_MATCHES(
      sweep_from_flags({{"batch", "1"}}, {}), UsageError,
      Message("flags: model: not given; allowed: a name from `kvmeter list models`, "
              "or a checkpoint folder"));
  CHECK_THROWS_MATCHES(
      sweep_from_flags({{"model", "tiny"}, {"prompt_tokens", "16,x"}}, {}), UsageError,
      Message("--prompt-tokens: prompt_tokens = x: not allowed; allowed: a number from 1"));
  CHECK_THROWS_AS(sweep_from_flags({{"model", "tiny"}, {"batch", "1,1"}}, {}), UsageError);
  CHECK_THROWS_AS(sweep_from_flags({{"model", "tiny"}, {"batch", "1,"}}, {}), UsageError);
  CHECK_THROWS_AS(sweep_from_flags({{"model", "tiny"}, {"batch", "1"}, {"batch", "2"}}, {}),
                  UsageError);
  CHECK_THROWS_AS(sweep_from_flags({{"model", "tiny"}, {"text", "\"open"}}, {}), UsageError);
}

TEST_CASE("mistakes in overrides name --set", "[cpu]") {
  CHECK_THROWS_MATCHES(
      parse_sweep("fixed.model = 'tiny'", "a.toml", {{"stop.trials", "0"}}, {}), UsageError,
      Message("--set stop.trials: stop.trials = 0: not allowed; allowed: a whole number from 1"));
  CHECK_THROWS_AS(parse_sweep("fixed.model = 'tiny'", "a.toml", {{"bacth", "0"}}, {}), UsageError);
}

TEST_CASE("a file that cannot be read is named", "[cpu]") {
  CHECK_THROWS_MATCHES(read_sweep("no/such.toml", {}, {}), UsageError,
                       Message("no/such.toml: cannot be read: No such file or directory"));
  CHECK_THROWS_AS(read_sweep("/", {}, {}), UsageError);
}

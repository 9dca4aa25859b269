// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/core/point.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <set>

#include "harness/core/error.hpp"

using namespace kvmeter;
using Catch::Matchers::Message;

namespace {

const PointKey& key(std::string_view name) {
  const PointKey* found = find_point_key(name);
  REQUIRE(found != nullptr);
  return *found;
}

/// A value of the key's type that is allowed and is not the default.
PointValue other_value(const PointKey& of) {
  const PointValue usual = get(Point{}, of);
  if (std::holds_alternative<std::string>(usual)) return "a b=\"c\", d";
  if (std::holds_alternative<std::int64_t>(usual)) return std::int64_t{37};
  if (std::holds_alternative<double>(usual)) return 0.1 + 0.2;
  return !std::get<bool>(usual);
}

}  // namespace

TEST_CASE("names of keys are unique and every default is in range", "[cpu]") {
  std::set<std::string_view> names;
  for (const PointKey& of : point_keys()) {
    CAPTURE(of.name);
    CHECK(names.insert(of.name).second);
    Point point;
    CHECK_NOTHROW(set(point, of, get(point, of)));
    CHECK(point == Point{});
  }
}

TEST_CASE("the canonical spelling of a point reads back the same", "[cpu]") {
  Point all;
  for (const PointKey& of : point_keys()) {
    CAPTURE(of.name);
    Point one;
    set(one, of, other_value(of));
    set(all, of, other_value(of));
    CHECK(parse_point(canonical(one)) == one);
  }
  CHECK(parse_point(canonical(all)) == all);
  CHECK(parse_point("") == Point{});
  CHECK(canonical(Point{}).empty());
}

TEST_CASE("a canonical spelling has the keys that differ, in the order of the table", "[cpu]") {
  const Point point = parse_point("batch=4 cache=none model=tiny top_p=1");
  CHECK(canonical(point) == "model=tiny cache=none batch=4");
}

TEST_CASE("texts with blanks and equal signs are quoted", "[cpu]") {
  Point point;
  point.text = "my texts/a=b.safetensors";
  CHECK(canonical(point) == "text=\"my texts/a=b.safetensors\"");
  CHECK(parse_point(canonical(point)) == point);
}

TEST_CASE("numbers are taken where the key allows them", "[cpu]") {
  Point point;
  set(point, key("kv_heads"), std::int64_t{8});
  CHECK(point.kv_heads == "8");
  set(point, key("temperature"), std::int64_t{2});
  CHECK(point.temperature == 2.0);
  set_from_text(point, key("top_p"), "0.5");
  CHECK(point.top_p == 0.5);
}

TEST_CASE("wrong values name key, value and what is allowed", "[cpu]") {
  Point point;
  CHECK_THROWS_MATCHES(set(point, key("batch"), "4"), UsageError,
                       Message("batch = \"4\": expected a whole number; allowed: a number from 1"));
  CHECK_THROWS_MATCHES(set(point, key("batch"), 4.5), UsageError,
                       Message("batch = 4.5: expected a whole number; allowed: a number from 1"));
  CHECK_THROWS_MATCHES(set(point, key("batch"), std::int64_t{0}), UsageError,
                       Message("batch = 0: out of range; allowed: a number from 1 (1 to 1048576)"));
  CHECK_THROWS_MATCHES(set_from_text(point, key("batch"), "4x"), UsageError,
                       Message("batch = 4x: not allowed; allowed: a number from 1"));
  CHECK_THROWS_MATCHES(set_from_text(point, key("ignore_eos"), "yes"), UsageError,
                       Message("ignore_eos = yes: not allowed; allowed: true | false"));
  CHECK_THROWS_AS(set_from_text(point, key("temperature"), "nan"), UsageError);
  CHECK_THROWS_AS(set_from_text(point, key("temperature"), "inf"), UsageError);
  CHECK_THROWS_AS(set_from_text(point, key("batch"), ""), UsageError);
  CHECK(point == Point{});
}

TEST_CASE("a point with an unknown or repeated key is refused", "[cpu]") {
  CHECK_THROWS_AS(parse_point("bacth=4"), UsageError);
  CHECK_THROWS_AS(parse_point("batch"), UsageError);
  CHECK_THROWS_AS(parse_point("batch=4 batch=4"), UsageError);
}

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/laws/parts.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/harness/run/laws/lawful_record.hpp"

namespace kvmeter::laws {
namespace {

using Catch::Matchers::ContainsSubstring;
using test::lawful_record;
using test::made_up_point;

std::vector<std::string> mistakes_of(const Point& point, const test::Shape& shape) {
  return part_mistakes(cache_facts(lawful_record(point, shape)));
}

TEST_CASE("scales follow from the rows that are kept", "[run]") {
  Point point = made_up_point("contiguous", 10, 1);
  point.k_element = "int4";
  point.v_element = "int8";
  constexpr std::int64_t rows = 4 * 10 * 2;  // layers, tokens, KV heads
  // Two scales each, and a last group of 2 channels in 2 bytes in place of 1.
  CHECK(mistakes_of(point, {.head_dim = 34, .scale = rows * (2 * 2 + 1 + 2 * 2)}).empty());
  CHECK(mistakes_of(point, {.head_dim = 32, .scale = rows * (2 + 2)}).empty());
  CHECK(mistakes_of(point, {.head_dim = 32, .scale = rows * (2 + 2) + 1}).size() == 1);
  CHECK(mistakes_of(made_up_point("paged", 10, 1), {.scale = 2}).size() == 1);
}

TEST_CASE("what nothing asked for is not there", "[run]") {
  Point point = made_up_point("contiguous", 10, 1);
  for (const test::Shape& shape : {test::Shape{.reserve = 64}, test::Shape{.staging = 64},
                                   test::Shape{.block_rounding = 64}}) {
    const auto mistakes = mistakes_of(point, shape);
    REQUIRE(mistakes.size() == 1);
    CHECK_THAT(mistakes[0], ContainsSubstring("at most 0, as"));
  }
  point.offload_layers = 1;
  CHECK(mistakes_of(point, {.staging = 64}).empty());
  point.ignore_eos = false;
  point.batch = 2;
  CHECK(mistakes_of(point, {.reserve = 64}).empty());
  CHECK(mistakes_of(made_up_point("contiguous", 10, 1), {.table = 17}).size() == 1);
  CHECK(mistakes_of(made_up_point("paged", 33, 1), {.table = 3 * 16}).empty());
  CHECK(mistakes_of(made_up_point("paged", 33, 1), {.table = 3 * 16 + 1}).size() == 1);
}

TEST_CASE("a prefix in common saves its rows and their scales", "[run]") {
  Point point = made_up_point("paged", 10, 1);
  constexpr std::int64_t layers = 4, kv_heads = 2, head_dim = 64, kept = 10, saved = 8;
  const auto with = [](std::int64_t rows_saved, std::int64_t rows_scaled) {
    return test::Shape{.scale = layers * rows_scaled * kv_heads * (4 + 4),
                       .shared = layers * rows_saved * kv_heads * head_dim * 2,
                       .table = 16};
  };
  point.k_element = "int8";
  point.v_element = "int8";
  CHECK(mistakes_of(point, with(saved, kept - saved)).size() == 1);  // nothing is common
  point.shared_prefix_tokens = 8;
  CHECK(mistakes_of(point, with(saved, kept - saved)).empty());
  CHECK(mistakes_of(point, with(saved, kept)).size() == 1);
}

TEST_CASE("a cache keeps the tokens of its point, and no record can say otherwise", "[run]") {
  const auto mistakes = [](const Point& point, std::int64_t by, std::int64_t window = 0) {
    PointRecord record = lawful_record(point, {.table = 0});
    record.values["effective_window_tokens"] = window;
    test::spoil(record, "cache_tokens", by);
    return part_mistakes(cache_facts(record)).size();
  };
  for (const char* cache : {"contiguous", "growing", "paged", "virtual", "none", "ring"}) {
    CAPTURE(cache);
    const Point point = made_up_point(cache, 10, 5);
    CHECK(mistakes(point, 0) == 0);
    CHECK(mistakes(point, 1) == 1);
  }
  const Point point = made_up_point("contiguous", 10, 5);
  CHECK(mistakes(point, -1) == 1);
  CHECK(mistakes(point, -4 * 14) == 1);  // an empty cache
  Point early = point;
  early.ignore_eos = false;
  early.batch = 2;
  CHECK(mistakes(early, -1) == 0);
  const Point ring = made_up_point("ring", 10, 5);  // 4 layers of 14 tokens
  CHECK(mistakes(ring, 0, 8) == 1);
  CHECK(mistakes(ring, 4 * (8 - 14), 8) == 0);
  CHECK(mistakes(ring, -4 * 14, 8) == 1);
}

TEST_CASE("blocks round up by less than a block, allocations by less than a word", "[run]") {
  Point point = made_up_point("paged", 17, 1);
  point.batch = 3;
  point.block_tokens = 16;
  constexpr std::int64_t token = 2 * 64 * 2 * 2;  // KV heads, head_dim, K and V, f16
  constexpr std::int64_t most = 4 * 3 * 15 * token;
  CHECK(mistakes_of(point, {.block_rounding = most}).empty());
  CHECK(mistakes_of(point, {.block_rounding = most + token}).size() == 1);
  CHECK(mistakes_of(point, {.allocator = 7 * (4 * 4 + 2)}).empty());
  CHECK(mistakes_of(point, {.allocator = 7 * (4 * 4 + 2) + 1}).size() == 1);
}

}  // namespace
}  // namespace kvmeter::laws

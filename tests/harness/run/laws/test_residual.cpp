// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/laws/residual.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "harness/core/error.hpp"
#include "harness/run/laws/element_bits.hpp"
#include "tests/harness/run/laws/lawful_record.hpp"

namespace kvmeter::laws {
namespace {

using Catch::Matchers::ContainsSubstring;
using test::lawful_record;
using test::made_up_point;

const test::Shape with_everything{
    .scale = 96, .shared = 512, .block_rounding = 1024, .reserve = 2048, .staging = 4096};

std::vector<std::string> mistakes_of(const PointRecord& record) {
  return residual_mistakes(cache_facts(record));
}

std::string message_of(const PointRecord& record) {
  try {
    cache_facts(record);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("the formula counts K and V of every token kept", "[run]") {
  // The 70B shape of reproduce.md: 327,680 bytes a token, 10 GiB at 32,768.
  const test::Shape shape{.layers = 80, .kv_heads = 8, .head_dim = 128};
  const PointRecord record = lawful_record(made_up_point("contiguous", 32768, 1), shape);
  CHECK(formula_bytes(cache_facts(record)) == std::int64_t{10} << 30);
  CHECK(mistakes_of(record).empty());
}

TEST_CASE("K and V count with their own elements, scales apart", "[run]") {
  Point point = made_up_point("paged", 10, 1);
  point.k_element = "int8";
  point.v_element = "int4";
  const PointRecord record = lawful_record(point, {.scale = 4 * 10 * 2 * (4 + 4)});
  CHECK(formula_bytes(cache_facts(record)) == 4 * 10 * 2 * (64 + 32));
  CHECK(mistakes_of(record).empty());
}

TEST_CASE("the element that really ran is the one that counts", "[run]") {
  PointRecord record = lawful_record(made_up_point("contiguous", 10, 1));
  record.point.k_element = "f32";
  record.values["effective_k_element"] = std::string("f16");
  CHECK(mistakes_of(record).empty());
}

TEST_CASE("every part of the residual is accounted for", "[run]") {
  CHECK(mistakes_of(lawful_record(made_up_point("paged", 17, 5), with_everything)).empty());
  CHECK(mistakes_of(lawful_record(made_up_point("none", 17, 5), {.table = 0})).empty());
}

TEST_CASE("one byte too many anywhere breaks the law of bytes", "[run]") {
  const PointRecord good = lawful_record(made_up_point("paged", 17, 5), with_everything);
  for (const char* name :
       {"formula", "scale", "shared", "block_rounding", "reserve", "staging", "table", "allocator",
        "live", "allocated", "metadata", "ledger", "unexplained"}) {
    CAPTURE(name);
    PointRecord record = good;
    test::spoil(record, std::string("cache_") + name + "_bytes");
    CHECK_FALSE(mistakes_of(record).empty());
  }
  PointRecord record = good;
  test::spoil(record, "cache_tokens");
  CHECK_FALSE(mistakes_of(record).empty());
}

TEST_CASE("memory is reserved before it is allocated, and the peak is no less than the end",
          "[run]") {
  for (const char* name : {"reserved", "ledger_peak"}) {
    CAPTURE(name);
    PointRecord record = lawful_record(made_up_point("paged", 17, 5), with_everything);
    test::spoil(record, std::string("cache_") + name + "_bytes", -1);
    const auto mistakes = mistakes_of(record);
    REQUIRE(mistakes.size() == 1);
    CHECK_THAT(mistakes[0], ContainsSubstring(name));
  }
}

TEST_CASE("bytes that nothing explains are told with their numbers", "[run]") {
  PointRecord record = lawful_record(made_up_point("paged", 17, 5));
  test::spoil(record, "cache_ledger_bytes", 640);
  test::spoil(record, "cache_ledger_peak_bytes", 640);
  test::spoil(record, "cache_unexplained_bytes", 640);
  const auto mistakes = mistakes_of(record);
  REQUIRE(mistakes.size() == 1);
  CHECK(mistakes[0] == "cache_unexplained_bytes is 640; nothing is 0");
}

TEST_CASE("parts below zero cannot hide behind a sum that fits", "[run]") {
  PointRecord record = lawful_record(made_up_point("paged", 17, 5));
  test::spoil(record, "cache_reserve_bytes", -64);
  test::spoil(record, "cache_block_rounding_bytes", 64);
  const auto mistakes = mistakes_of(record);
  REQUIRE(mistakes.size() == 1);
  CHECK_THAT(mistakes[0], ContainsSubstring("cache_reserve_bytes is -64, below 0"));
}

TEST_CASE("what is missing is named", "[run]") {
  PointRecord record = lawful_record(made_up_point("paged", 17, 5));
  record.values.erase("cache_staging_bytes");
  CHECK(message_of(record) == "cache_staging_bytes is missing");
  record = lawful_record(made_up_point("paged", 17, 5));
  record.point.k_element = "f7";
  CHECK(message_of(record) == "k_element = f7: its size is not known to verify");
  record.values["n_kv_heads"] = std::int64_t{0};
  CHECK_THAT(message_of(record), ContainsSubstring("n_kv_heads = 0"));
}

}  // namespace
}  // namespace kvmeter::laws

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>
#include <set>

#include "harness/core/error.hpp"
#include "harness/core/point.hpp"
#include "harness/record/schema.hpp"
#include "tests/support/temp_dir.hpp"

using namespace kvmeter;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

std::string rejection(const std::string& name, RecordValue value) {
  PointRecord record;
  record.values[name] = std::move(value);
  try {
    check_record(record);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("every variable is named once and says what it is", "[record]") {
  for (const auto table : {point_variables(), sample_variables(), attribute_variables()}) {
    std::set<std::string> names;
    for (const Variable& variable : table) {
      CAPTURE(variable.name);
      CHECK(names.insert(variable.name).second);
      CHECK_FALSE(variable.description.empty());
      const bool number = variable.type == ValueType::int64 || variable.type == ValueType::real;
      CHECK(variable.units.empty() != number);
    }
  }
}

TEST_CASE("every point key is a variable of its type", "[record]") {
  for (const PointKey& key : point_keys()) {
    CAPTURE(key.name);
    const Variable* variable = find_point_variable(key.name);
    REQUIRE(variable != nullptr);
    CHECK(variable->source == Source::key);
    const bool number = std::holds_alternative<std::int64_t Point::*>(key.field) ||
                        std::holds_alternative<double Point::*>(key.field);
    CHECK(variable->units.empty() != number);
  }
}

TEST_CASE("effective twins share the names of their key", "[record]") {
  CHECK(vocabulary_key(*find_point_variable("effective_k_element")) == "k_element");
  CHECK(vocabulary_key(*find_point_variable("cache")) == "cache");
  CHECK(find_point_variable("effective_backend")->meanings ==
        find_point_variable("backend")->meanings);
}

TEST_CASE("a value that the schema does not know is a mistake", "[record]") {
  CHECK_THAT(rejection("no_such_thing", 1.0), ContainsSubstring("no_such_thing"));
  CHECK_THAT(rejection("cache", std::string("none")), ContainsSubstring("member of its own"));
  CHECK_THAT(rejection("status", std::string("ok")), ContainsSubstring("member of its own"));
  CHECK_THAT(rejection("itl_s", std::string("fast")), ContainsSubstring("wrong type"));
  CHECK_THAT(rejection("n_heads", 1.5), ContainsSubstring("wrong type"));
  CHECK_THAT(rejection("message", std::string("x")), ContainsSubstring("member of its own"));
  CHECK_THAT(rejection("started_at", std::int64_t{1}), ContainsSubstring("wrong type"));
  CHECK_THAT(rejection("stop_reason", std::string("bored")), ContainsSubstring("samples, noise"));
}

TEST_CASE("whole numbers and missing ones are fine for real variables", "[record]") {
  CHECK(rejection("itl_s", std::int64_t{1}).empty());
  CHECK(rejection("itl_s", std::numeric_limits<double>::quiet_NaN()).empty());
  CHECK(rejection("n_heads", std::numeric_limits<double>::quiet_NaN()).empty());
  CHECK(is_missing(std::numeric_limits<double>::infinity()));
  CHECK_FALSE(is_missing(0.0));
  CHECK_FALSE(is_missing(std::int64_t{0}));
}

TEST_CASE("an attribute that the schema does not know is a mistake", "[record]") {
  CHECK_NOTHROW(check_attributes({{"host", std::string("example")}, {"seed", std::int64_t{1}}}));
  CHECK_THROWS_MATCHES(check_attributes({{"colour", std::string("red")}}), Error,
                       MessageMatches(ContainsSubstring("colour")));
  CHECK_THROWS_AS(check_attributes({{"seed", std::string("one")}}), Error);
}

TEST_CASE("results/SCHEMA.md is what the tables say", "[record]") {
  INFO("to mend: build/cpu/tests/harness/record/print_schema > results/SCHEMA.md");
  CHECK(test::read_bytes(KVMETER_SOURCE_DIR "/results/SCHEMA.md") == schema_markdown());
}

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/core/quote.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "harness/core/error.hpp"

using namespace kvmeter;

TEST_CASE("any text survives quoting and splitting", "[cpu]") {
  const std::string text = GENERATE("plain", "", "two words", "a,b", "say \"so\"", "back\\slash",
                                    "\\\"", "line\nbreak", "tab\there", "a=b=c");
  const char separator = GENERATE(' ', ',');
  const std::string line = "first" + std::string(1, separator) + quote_if_needed(text, separator);
  CHECK(split_quoted(line, separator) == std::vector<std::string>{"first", text});
}

TEST_CASE("plain text is left as it is", "[cpu]") {
  CHECK(quote_if_needed("models/a=b", ' ') == "models/a=b");
  CHECK(quote_if_needed("c:\\x", ' ') == "c:\\x");
}

TEST_CASE("an open quote is a mistake", "[cpu]") {
  CHECK_THROWS_AS(split_quoted("a,\"b", ','), UsageError);
}

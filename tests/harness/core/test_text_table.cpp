// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/core/text_table.hpp"

#include <catch2/catch_test_macros.hpp>

#include "harness/core/error.hpp"

using namespace kvmeter;

TEST_CASE("names stand to the left, numbers to the right", "[cpu]") {
  TextTable table({"name", "time"});
  table.add_row({"a", "1.5 ms"});
  table.add_row({"long one", "12"});
  table.add_row({"none", "-"});
  CHECK(table.text() ==
        "name        time\n"
        "a         1.5 ms\n"
        "long one      12\n"
        "none           -\n");
}

TEST_CASE("a row has as many cells as the table has columns", "[cpu]") {
  TextTable table({"name"});
  CHECK_THROWS_AS(table.add_row({"a", "b"}), Error);
}

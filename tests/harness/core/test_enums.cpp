// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/core/enums.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>

#include "harness/core/error.hpp"

using namespace kvmeter;

TEST_CASE("every name leads back to its value", "[cpu]") {
  for (const auto name : EnumNames<Status>::values)
    CHECK(name_of(parse_enum<Status>(name)) == name);
  for (const auto name : EnumNames<Backend>::values)
    CHECK(name_of(parse_enum<Backend>(name)) == name);
  CHECK(name_of(Element::bf16) == "bf16");
}

TEST_CASE("codes of result files stay as they are", "[cpu]") {
  CHECK(static_cast<int>(Status::skipped_predicted) == 9);
  CHECK(name_of(Status::skipped_predicted) == "skipped_predicted");
  CHECK(name_of(static_cast<Phase>(1)) == "decode");
}

TEST_CASE("an unknown name lists the known ones", "[cpu]") {
  CHECK(!find_enum<Weights>("checkpiont"));
  CHECK_THROWS_MATCHES(parse_enum<Weights>("checkpiont"), UsageError,
                       Catch::Matchers::Message("unknown weights 'checkpiont'; did you mean "
                                                "'checkpoint'? allowed: random, checkpoint"));
}

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/core/hash.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace kvmeter;

// Values of the published test vectors of FNV-1a (64 bit).
TEST_CASE("FNV-1a gives the published values", "[cpu]") {
  CHECK(fnv1a("") == 0xcbf29ce484222325ULL);
  CHECK(fnv1a("a") == 0xaf63dc4c8601ec8cULL);
  CHECK(fnv1a("foobar") == 0x85944171f73967e8ULL);
}

TEST_CASE("parts of a text can be chained", "[cpu]") {
  CHECK(fnv1a("bar", fnv1a("foo")) == fnv1a("foobar"));
  CHECK(hex(0x1f) == "000000000000001f");
}

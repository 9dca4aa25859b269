// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/core/names.hpp"

#include <array>
#include <catch2/catch_test_macros.hpp>

using namespace kvmeter;

namespace {
constexpr auto kNames = std::to_array<std::string_view>({"batch", "prompt_tokens", "new_tokens"});
}

TEST_CASE("the nearest name is a misspelling or a beginning away", "[cpu]") {
  CHECK(nearest_name("bacth", kNames) == "batch");
  CHECK(nearest_name("promt-tokens", kNames) == "prompt_tokens");
  CHECK(nearest_name("prompt", kNames) == "prompt_tokens");
  CHECK(nearest_name("temperature", kNames).empty());
  CHECK(nearest_name("", kNames).empty());
}

TEST_CASE("without a near name there is no hint", "[cpu]") {
  CHECK(unknown_name("key", "xyz", kNames) ==
        "unknown key 'xyz'; allowed: batch, prompt_tokens, new_tokens");
}

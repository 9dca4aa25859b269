// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "harness/run/commands.hpp"

using namespace kvmeter;

namespace {

std::optional<std::string> wrong(std::string_view key, const std::string& value) {
  const PointKey* found = find_point_key(key);
  REQUIRE(found != nullptr);
  return run::value_check()(*found, value);
}

struct Case {
  std::string key;
  std::string value;
  std::string expected;  // begins so
};

}  // namespace

TEST_CASE("the defaults of all keys but the model are allowed", "[cpu]") {
  for (const PointKey& key : point_keys()) {
    CAPTURE(key.name);
    const bool is_model = key.name == "model";
    CHECK(run::value_check()(key, get(Point{}, key)).has_value() == is_model);
  }
  CHECK(!wrong("model", "tiny"));
}

TEST_CASE("numbers of KV heads and all names are allowed", "[cpu]") {
  const std::string heads = GENERATE("model", "mha", "mqa", "1", "8");
  CHECK(!wrong("kv_heads", heads));
  CHECK(!wrong("weight_element", "bf16"));
  CHECK(!wrong("backend", "serial"));
  CHECK(!wrong("text", std::string(KVMETER_SOURCE_DIR) + "/CMakeLists.txt"));
}

TEST_CASE("a value that is not allowed is named with those that are", "[cpu]") {
  const Case given = GENERATE(values<Case>({
      {"model", "tinny", "model: unknown model 'tinny'; did you mean 'tiny'? allowed: "},
      {"weights", "chekpoint", "weights: unknown source 'chekpoint'; did you mean 'checkpoint'? "},
      {"weight_element", "f8", "weight_element: unknown element 'f8'; "},
      {"kv_heads", "0", "kv_heads = 0: not allowed; allowed: model | mha | mqa | a number"},
      {"kv_heads", "gqa", "kv_heads = gqa: not allowed; allowed: model | mha | mqa | a number"},
      {"cache", "contigous", "cache: unknown placement 'contigous'; did you mean 'contiguous'? "},
      {"k_element", "f17", "k_element: unknown codec 'f17'; did you mean 'f16'? allowed: f32, f16"},
      {"v_element", "half", "v_element: unknown codec 'half'; allowed: f32, f16"},
      {"attention", "flash", "attention: unknown algorithm 'flash'; allowed: two_pass, online"},
      {"backend", "omp", "backend: unknown backend 'omp'; "},
      {"sampling", "top_k", "sampling: unknown method 'top_k'; allowed: greedy, temperature"},
      {"text", "no/such", "text: no file no/such; allowed: a safetensors file with token_ids"},
      {"text", "no/smollm2-135m/t.safetensors",
       "text: no file no/smollm2-135m/t.safetensors; allowed: a safetensors file with token_ids; "
       "run "
       "scripts/fetch_model smollm2-135m"},
  }));
  const auto told = wrong(given.key, given.value);
  REQUIRE(told);
  CHECK(told->substr(0, given.expected.size()) == given.expected);
}

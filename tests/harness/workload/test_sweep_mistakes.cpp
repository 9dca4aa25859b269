// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <string>

#include "harness/core/error.hpp"
#include "harness/workload/sweep.hpp"

using namespace kvmeter;

namespace {

std::optional<std::string> only_known_caches(const PointKey& key, const PointValue& value) {
  if (key.name != "cache" || to_text(value) == "none") return std::nullopt;
  return "cache: unknown placement '" + to_text(value) + "'; allowed: none";
}

/// What reading this says; the line numbers count from 1, the text starts after a line break.
std::string mistakes_of(const std::string& toml) {
  try {
    parse_sweep(toml, "a.toml", {}, only_known_caches);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

struct Case {
  std::string toml;      // after the line fixed.model = "tiny"
  std::string expected;  // begins so
};

}  // namespace

TEST_CASE("each mistake is told with file and line", "[cpu]") {
  const Case given = GENERATE(values<Case>({
      {"[axes]\nbacth = [1]",
       "a.toml:3: unknown key 'bacth'; did you mean 'batch'? allowed: model, "},
      {"[axis]\nbatch = [1]",
       "a.toml:2: unknown table 'axis'; did you mean 'axes'? allowed: name, "},
      {"nmae = 1", "a.toml:2: unknown key 'nmae'; did you mean 'name'? allowed: name, "},
      {"batch = 1",
       "a.toml:2: batch: stands outside of a table; allowed: under [fixed], [axes] or"},
      {"[axes]\nbatch = [1,\n 'x']",
       "a.toml:4: batch = \"x\": expected a whole number; allowed: a n"},
      {"[axes]\nbatch = [1, 0]",
       "a.toml:3: batch = 0: out of range; allowed: a number from 1 (1 to "},
      {"[axes]\nbatch = []", "a.toml:3: batch: no values"},
      {"[axes]\nbatch = 1", "a.toml:3: batch: expected a list of values, [..]; one value belongs "},
      {"[axes]\nbatch = [[1]]",
       "a.toml:3: batch: expected a string, a number or true or false, not a"},
      {"[axes]\nbatch = [1979-05-27]",
       "a.toml:3: batch: expected a string, a number or true or fal"},
      {"[axes]\nbatch = [1, 2, 1]",
       "a.toml:3: batch = 1: given twice, the points would be the same"},
      {"[axes]\ncache = ['none', 'pagd']",
       "a.toml:3: cache: unknown placement 'pagd'; allowed: none"},
      {"[axes]\nmodel = ['b']", "a.toml:3: model: given twice, before as model at a.toml:1"},
      {"[axes]\ncache_element = ['f16']\nv_element = ['f32']",
       "a.toml:4: v_element: given twice, before as cache_element at a.toml:3"},
      {"fixed.batch = [1]", "a.toml:2: batch: expected one value; a list belongs under [axes]"},
      {"fixed = 3", "a.toml:2: not TOML: "},
      {"axes = 3", "a.toml:2: axes: expected a table, [axes]"},
      {"[[zip]]\nbatch = [1, 2]\nthreads = [1]",
       "a.toml:2: zip: lists of unequal length: batch has 2, threads has 1"},
      {"[[zip]]\nbatch = [1, 1]\nthreads = [2, 2]",
       "a.toml:2: batch = 1, threads = 2: given twice, "},
      {"[[zip]]", "a.toml:2: zip: no keys in this table"},
      {"[zip]\nbatch = [1]", "a.toml:2: zip: expected a list of tables, each [[zip]]"},
      {"[[skip]]\nwhen.bacth = 1\nbecause = 'x'",
       "a.toml:3: unknown key 'bacth'; did you mean 'batch"},
      {"[[skip]]\nwhen.batch = 'x'\nbecause = 'x'",
       "a.toml:3: batch = \"x\": expected a whole number"},
      {"[[skip]]\nwhen.batch = 1",
       "a.toml:2: skip: expected because = \"...\", the reason to show"},
      {"[[skip]]\nbecause = 'x'",
       "a.toml:2: skip: expected when = { key = value, ... }, which point"},
      {"[[skip]]\nwhen = {}\nbecause = 'x'",
       "a.toml:3: skip: when is empty and would leave out ever"},
      {"[[skip]]\nif = 1\nwhen.batch = 1\nbecause = 'x'",
       "a.toml:3: skip: unknown key 'if'; allowed"},
      {"[stop]\ntrails = 1",
       "a.toml:3: [stop]: unknown key 'trails'; did you mean 'trials'? allowe"},
      {"[stop]\ntrials = 1.5",
       "a.toml:3: stop.trials = 1.5: not allowed; allowed: a whole number fr"},
      {"[stop]\nmax_seconds = 0",
       "a.toml:3: stop.max_seconds = 0: not allowed; allowed: seconds abo"},
      {"[stop]\nmax_seconds = nan",
       "a.toml:3: stop.max_seconds = nan: not allowed; allowed: seconds"},
      {"[limits]\nmemory_bytes = '1G'",
       "a.toml:3: limits.memory_bytes = \"1G\": not allowed; allow"},
      {"seed = -1", "a.toml:2: seed = -1: not allowed; allowed: a whole number from 0"},
      {"name = 1", "a.toml:2: name = 1: not allowed; allowed: a string"},
      {"[axes]\nbatch = [1,", "a.toml:3: not TOML: "},
      {"[axes]\nbatch = [1]\nbatch = [2]", "a.toml:4: not TOML: "},
      {"fixed.weights = 'checkpoint'\nfixed.kv_heads = 4",
       "a.toml: kv_heads = 4: needs weights = r"},
  }));
  CAPTURE(given.toml);
  const std::string told = mistakes_of("fixed.model = 'tiny'\n" + given.toml);
  CHECK(told.substr(0, given.expected.size()) == given.expected);
  CHECK(told.find('\n') == std::string::npos);
}

TEST_CASE("a sweep without a model says so", "[cpu]") {
  CHECK(mistakes_of("axes.batch = [1]").starts_with("a.toml: model: not given; allowed: "));
}

TEST_CASE("all mistakes are told, in the order of the file", "[cpu]") {
  const std::string told = mistakes_of(
      "seed = 'x'\n[axes]\nbatch = [0]\nthreads = []\n[fixed]\nmodel = 'tiny'\ncache = 'ring'\n"
      "cahce = 'none'\n");
  CHECK(told.starts_with("a.toml:1: seed"));
  std::vector<std::size_t> starts;
  for (const std::string line : {"1", "3", "4", "7", "8"}) {
    starts.push_back(told.find("a.toml:" + line + ": "));
    REQUIRE(starts.back() != std::string::npos);
  }
  CHECK(std::ranges::is_sorted(starts));
}

TEST_CASE("a skipped point may contradict itself", "[cpu]") {
  CHECK(mistakes_of("fixed.model = 'tiny'\n[axes]\nweights = ['random', 'checkpoint']\n"
                    "kv_heads = ['model', 4]\n[[skip]]\nwhen = { weights = 'checkpoint', "
                    "kv_heads = 4 }\nbecause = 'x'\n") == "");
}

TEST_CASE("a sweep has a sane number of points", "[cpu]") {
  std::string toml = "fixed.model = 'tiny'\n[axes]\n";
  for (const std::string name : {"batch", "threads", "prompt_tokens", "new_tokens"}) {
    toml += name + " = [1";
    for (int i = 2; i <= 40; ++i) toml += ", " + std::to_string(i);
    toml += "]\n";
  }
  CHECK(mistakes_of(toml) == "a.toml: more than 1000000 points");
}

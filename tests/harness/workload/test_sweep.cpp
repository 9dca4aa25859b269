// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/workload/sweep.hpp"

#include <catch2/catch_test_macros.hpp>
#include <filesystem>

using namespace kvmeter;

namespace {

Sweep parse(std::string_view toml, const Overrides& overrides = {}) {
  return parse_sweep(toml, "a.toml", overrides, {});
}

std::vector<std::string> spelled(const Sweep& sweep) {
  std::vector<std::string> texts;
  for (const SweepPoint& point : sweep.points) texts.push_back(canonical(point.point));
  return texts;
}

constexpr std::string_view kFull = R"(
name = "full"
description = "everything at once"
seed = 7

[fixed]
model = "tiny"
attention = "two_pass"

[axes]
cache = ["none", "contiguous"]
batch = [1, 4]

[[zip]]
prompt_tokens = [16, 64]
new_tokens = [64, 16]

[[skip]]
when = { cache = "none", batch = [2, 4] }
because = "would take too long"

[stop]
min_samples = 5
max_seconds = 2
relative_noise = 0.1
trials = 2

[limits]
point_seconds = 1.5
memory_bytes = 1000000
)";

}  // namespace

TEST_CASE("a full sweep is read", "[cpu]") {
  const Sweep sweep = parse(kFull);
  CHECK(sweep.name == "full");
  CHECK(sweep.description == "everything at once");
  CHECK(sweep.seed == 7);
  CHECK(sweep.text == kFull);
  CHECK(sweep.stop.min_samples == 5);
  CHECK(sweep.stop.max_seconds == 2);
  CHECK(sweep.stop.relative_noise == 0.1);
  CHECK(sweep.stop.trials == 2);
  CHECK(sweep.limits.point_seconds == 1.5);
  CHECK(sweep.limits.memory_bytes == 1000000);
  CHECK(sweep.points.size() == 8);
}

TEST_CASE("the first axis is the slowest, zips come last", "[cpu]") {
  const std::string fixed = "model=tiny ";
  const std::string attention = "attention=two_pass ";
  const std::string zip_0 = "prompt_tokens=16 new_tokens=64";
  const std::string zip_1 = "prompt_tokens=64 new_tokens=16";
  std::vector<std::string> expected;
  for (const std::string cache : {"cache=none ", ""})
    for (const std::string batch : {"", "batch=4 "})
      for (const std::string& zip : {zip_0, zip_1})
        expected.push_back(fixed + cache + attention + batch + zip);
  CHECK(spelled(parse(kFull)) == expected);
}

TEST_CASE("a skip rule holds where all of its keys do, and gives its reason", "[cpu]") {
  for (const SweepPoint& point : parse(kFull).points) {
    const bool skipped = point.point.cache == "none" && point.point.batch == 4;
    CHECK(point.skip_reason ==
          (skipped ? std::optional<std::string>("would take too long") : std::nullopt));
  }
}

TEST_CASE("axes keep the order of the file, not of the alphabet", "[cpu]") {
  const Sweep sweep = parse("fixed.model = 'tiny'\n[axes]\nnew_tokens = [1, 2]\nbatch = [1, 2]\n");
  CHECK(spelled(sweep) ==
        std::vector<std::string>{"model=tiny new_tokens=1", "model=tiny batch=2 new_tokens=1",
                                 "model=tiny new_tokens=2", "model=tiny batch=2 new_tokens=2"});
}

TEST_CASE("cache_element sets the elements of K and V", "[cpu]") {
  const Sweep sweep = parse(
      "fixed.model = 'tiny'\naxes.cache_element = ['f32', 'bf16']\n"
      "[[skip]]\nwhen.cache_element = 'bf16'\nbecause = 'so'\n");
  REQUIRE(sweep.points.size() == 2);
  CHECK(sweep.points[0].point.k_element == "f32");
  CHECK(sweep.points[0].point.v_element == "f32");
  CHECK(!sweep.points[0].skip_reason);
  CHECK(sweep.points[1].point.v_element == "bf16");
  CHECK(sweep.points[1].skip_reason);
}

TEST_CASE("the seam of an alias: a rule on it needs K and V alike", "[cpu]") {
  const Sweep sweep = parse(
      "fixed.model = 'tiny'\naxes.k_element = ['f32', 'f16']\nfixed.v_element = 'f16'\n"
      "[[skip]]\nwhen.cache_element = ['f32', 'f16']\nbecause = 'so'\n");
  CHECK(!sweep.points[0].skip_reason);
  CHECK(sweep.points[1].skip_reason);
}

TEST_CASE("a zip with repeat may hold a row twice", "[cpu]") {
  const Sweep sweep = parse("fixed.model = 'tiny'\n[[zip]]\nbatch = [4, 4]\nrepeat = [0, 1]\n");
  CHECK(sweep.points.size() == 2);
}

TEST_CASE("without a name the sweep is called as its file", "[cpu]") {
  CHECK(parse("fixed.model = 'tiny'").name == "a");
  CHECK(parse("fixed.model = 'tiny'").points.size() == 1);
}

TEST_CASE("an override takes the place of an axis", "[cpu]") {
  const Sweep sweep = parse(kFull, {{"cache", "contiguous"}, {"new_tokens", "8"}});
  CHECK(spelled(sweep) ==
        std::vector<std::string>{
            "model=tiny attention=two_pass prompt_tokens=16 new_tokens=8",
            "model=tiny attention=two_pass prompt_tokens=64 new_tokens=8",
            "model=tiny attention=two_pass batch=4 prompt_tokens=16 new_tokens=8",
            "model=tiny attention=two_pass batch=4 prompt_tokens=64 new_tokens=8"});
  CHECK(sweep.text == std::string(kFull) + "# --set cache=contiguous\n# --set new_tokens=8\n");
}

TEST_CASE("an override of half an alias leaves the other half", "[cpu]") {
  const Sweep sweep =
      parse("fixed.model = 'tiny'\naxes.cache_element = ['f32', 'bf16']\n", {{"k_element", "f16"}});
  CHECK(spelled(sweep) ==
        std::vector<std::string>{"model=tiny v_element=f32", "model=tiny v_element=bf16"});
}

TEST_CASE("rows of a zip that an override makes equal are one", "[cpu]") {
  const Sweep sweep = parse("fixed.model = 'tiny'\n[[zip]]\nbatch = [2, 2]\nthreads = [1, 2]\n",
                            {{"threads", "3,4"}});
  CHECK(spelled(sweep) ==
        std::vector<std::string>{"model=tiny threads=3 batch=2", "model=tiny threads=4 batch=2"});
}

TEST_CASE("settings are overridden by their full name", "[cpu]") {
  const Sweep sweep = parse(kFull, {{"stop.max_seconds", "0.5"}, {"seed", "3"}, {"name", "7"}});
  CHECK(sweep.stop.max_seconds == 0.5);
  CHECK(sweep.seed == 3);
  CHECK(sweep.name == "7");
}

TEST_CASE("shards share the points out", "[cpu]") {
  const Sweep whole = parse(kFull);
  std::size_t count = 0;
  for (int i = 0; i < 3; ++i) {
    Sweep shard = whole;
    keep_shard(shard, i, 3);
    for (std::size_t j = 0; j < shard.points.size(); ++j, ++count)
      CHECK(shard.points[j].point == whole.points[3 * j + static_cast<std::size_t>(i)].point);
  }
  CHECK(count == whole.points.size());
}

TEST_CASE("the sweeps of this repository are read", "[cpu]") {
  const auto folder = std::filesystem::path(KVMETER_SOURCE_DIR) / "workloads" / "sweeps";
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
    if (!file.is_regular_file()) continue;
    CAPTURE(file.path());
    CHECK(!read_sweep(file.path(), {}, {}).points.empty());
  }
}

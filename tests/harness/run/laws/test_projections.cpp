// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/laws/projections.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "tests/harness/run/laws/lawful_record.hpp"

namespace kvmeter::laws {
namespace {

using Catch::Approx;
using test::lawful_record;
using test::made_up_point;

TEST_CASE("500 tokens cost 125,250 K/V computations without a cache and 500 with one", "[run]") {
  CHECK(expected_projections(made_up_point("none", 1, 500)) == 125'250);
  CHECK(expected_projections(made_up_point("contiguous", 1, 500)) == 500);
}

TEST_CASE("computations are what counting step by step gives", "[run]") {
  for (const char* cache : {"none", "paged"})
    for (const std::int64_t prompt : {1, 2, 17})
      for (const std::int64_t more : {0, 1, 2, 9})
        for (const std::int64_t batch : {1, 3})
          for (const std::int64_t shared : {0, 1, 16}) {
            Point point = made_up_point(cache, prompt, more);
            point.batch = batch;
            point.shared_prefix_tokens = shared < prompt ? shared : 0;
            CAPTURE(cache, prompt, more, batch, point.shared_prefix_tokens);
            const PointRecord record = lawful_record(point, {.layers = 1});
            CHECK(expected_projections(point) ==
                  std::get<std::int64_t>(record.values.at("kv_projections")));
          }
}

TEST_CASE("made-up rows cost no computations", "[run]") {
  Point point = made_up_point("contiguous", 32768, 4);
  point.prefill = "synthetic";
  point.batch = 2;
  CHECK(expected_projections(point) == 6);
}

TEST_CASE("of generations that may have ended early nothing is expected", "[run]") {
  PointRecord record = lawful_record(made_up_point("paged", 8, 20));
  CHECK_FALSE(may_have_ended_early(record));
  test::spoil(record, "n_generated", -3);
  CHECK_FALSE(may_have_ended_early(record));  // it was to go on: that is a fault
  record.point.ignore_eos = false;
  CHECK(may_have_ended_early(record));
  Point batch = made_up_point("paged", 8, 20);
  batch.ignore_eos = false;
  CHECK_FALSE(may_have_ended_early(lawful_record(batch)));
  batch.batch = 2;
  CHECK(may_have_ended_early(lawful_record(batch)));
}

TEST_CASE("growth is quadratic without a cache and linear with one", "[run]") {
  std::vector<PointRecord> records;
  for (const char* cache : {"none", "paged"})
    for (const std::int64_t n : {100, 200, 400, 800})
      records.push_back(lawful_record(made_up_point(cache, 1, n)));
  records.push_back(lawful_record(made_up_point("paged", 2, 100)));  // another prompt: alone
  std::vector<const PointRecord*> pointers;
  for (const PointRecord& record : records) pointers.push_back(&record);
  const std::vector<Growth> growth = growth_of(pointers);
  REQUIRE(growth.size() == 2);
  for (const Growth& one : growth) {
    const double expected = one.point.cache == "none" ? 2 : 1;
    CHECK(one.n_points == 4);
    CHECK(one.from == 100);
    CHECK(one.to == 800);
    CHECK(one.projections.value() == Approx(expected).margin(0.01));
    CHECK(one.total_s.value() == Approx(1).margin(1e-9));
  }
}

TEST_CASE("growth of what was not measured is not told", "[run]") {
  std::vector<PointRecord> records;
  for (const std::int64_t n : {100, 200})
    records.push_back(lawful_record(made_up_point("paged", 1, n)));
  records[0].values.erase("total_s");
  const std::vector<const PointRecord*> pointers{&records[0], &records[1]};
  const Growth growth = growth_of(pointers).at(0);
  CHECK(growth.projections);
  CHECK_FALSE(growth.total_s);
}

}  // namespace
}  // namespace kvmeter::laws

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/laws/report.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "harness/run/laws/spelling.hpp"
#include "tests/harness/run/laws/lawful_record.hpp"

namespace kvmeter::laws {
namespace {

using Catch::Matchers::ContainsSubstring;
using test::lawful_record;
using test::made_up_point;

std::vector<PointRecord> lawful_records() {
  std::vector<PointRecord> records;
  for (const char* cache : {"none", "paged"})
    for (const std::int64_t n : {10, 20, 40})
      records.push_back(lawful_record(made_up_point(cache, 1, n),
                                      {.table = cache == std::string("none") ? 0 : 16}));
  PointRecord& skipped = records.emplace_back();
  skipped.point = made_up_point("paged", 1, 1000);
  skipped.status = Status::skipped_predicted;
  skipped.message = "needs 80.0 GiB; 24.0 GiB are available";
  return records;
}

TEST_CASE("records that keep every law hold", "[run]") {
  const Report report = hold_against_laws(lawful_records());
  CHECK(report.holds());
  CHECK(report.points.size() == 6);
  CHECK(report.families.size() == 1);
  CHECK(report.growth.size() == 2);
  const std::string text = text_of(report);
  CHECK_THAT(text, ContainsSubstring("all laws hold for 6 points"));
  CHECK_THAT(text, !ContainsSubstring("FAILS"));
  CHECK_THAT(text, ContainsSubstring("cache=paged new_tokens=20"));
}

TEST_CASE("points that are not ok are told and break no law", "[run]") {
  const Report report = hold_against_laws(lawful_records());
  REQUIRE(report.unmeasured.size() == 1);
  CHECK(report.unmeasured[0].status == "skipped_predicted");
  CHECK_THAT(text_of(report), ContainsSubstring("needs 80.0 GiB"));
}

TEST_CASE("each law that is broken is told with its point", "[run]") {
  auto records = lawful_records();
  test::spoil(records[1], "kv_projections");
  test::spoil(records[4], "cache_unexplained_bytes", 8);
  test::spoil(records[4], "cache_ledger_bytes", 8);
  records[5].values.erase("cache_table_bytes");
  records[2].values.erase("kv_projections");
  const Report report = hold_against_laws(records);
  CHECK_FALSE(report.holds());
  const std::string text = text_of(report);
  CHECK_THAT(text, ContainsSubstring("FAILS: K/V computations: cache=none new_tokens=20: 841, "
                                     "expected 840"));
  CHECK_THAT(text, ContainsSubstring("FAILS: K/V computations: cache=none new_tokens=40: "
                                     "kv_projections is missing"));
  CHECK_THAT(text, ContainsSubstring("FAILS: bytes: cache=paged new_tokens=20: "
                                     "cache_unexplained_bytes is 8"));
  CHECK_THAT(text, ContainsSubstring("FAILS: bytes: cache=paged new_tokens=40: "
                                     "cache_table_bytes is missing"));
  CHECK_THAT(text, !ContainsSubstring("all laws hold"));
}

TEST_CASE("a law of proportion that is broken is told", "[run]") {
  auto records = lawful_records();
  for (const char* name : {"cache_ledger_bytes", "cache_unexplained_bytes"})
    test::spoil(records[5], name, 1024);
  CHECK_THAT(text_of(hold_against_laws(records)),
             ContainsSubstring("FAILS: proportion: ledger over tokens from 10 to 40, cache=paged"));
}

TEST_CASE("resident memory that is far from the ledger is told", "[run]") {
  Point point = made_up_point("contiguous", 4000, 1);
  PointRecord record = lawful_record(point, {.layers = 32, .kv_heads = 8, .head_dim = 128});
  CHECK(hold_against_laws({&record, 1}).holds());
  record.values["rss_cache_bytes"] = std::int64_t{1} << 20;
  const Report report = hold_against_laws({&record, 1});
  CHECK_FALSE(report.holds());
  CHECK_THAT(text_of(report), ContainsSubstring("FAILS: resident memory: "));
}

TEST_CASE("a file without ok points verifies nothing", "[run]") {
  CHECK_FALSE(hold_against_laws({}).holds());
  CHECK_THAT(text_of(hold_against_laws({})), ContainsSubstring("no point to verify"));
  const auto records = lawful_records();
  const Report report = hold_against_laws({&records.back(), 1});
  CHECK_FALSE(report.holds());
  CHECK_THAT(text_of(report), ContainsSubstring("skipped_predicted"));
  CHECK_THAT(text_of(report), ContainsSubstring("no point to verify"));
}

TEST_CASE("JSON has every byte and verdict", "[run]") {
  const auto json = nlohmann::json::parse(json_of(hold_against_laws(lawful_records())));
  CHECK(json["holds"] == true);
  CHECK(json["broken"].empty());
  const auto& point = json["points"][3];
  CHECK(point["point"] == "cache=paged new_tokens=10");
  CHECK(point["bytes"]["formula_bytes"] == 4 * 10 * 2 * 64 * 2 * 2);
  CHECK(point["bytes"]["ledger_bytes"] == 4 * 10 * 2 * 64 * 2 * 2 + 16 + 88);
  CHECK(point["bytes"]["unexplained_bytes"] == 0);
  CHECK(point["bytes_hold"] == true);
  CHECK(point["kv_projections_hold"] == true);
  CHECK(point["resident_ratio"].is_null());
  CHECK(json["points"][0]["bytes"]["prefactor"].is_null());
  CHECK(json["factors"][0]["factor"] == "tokens");
  CHECK(json["factors"][0]["ledger"]["holds"] == true);
  CHECK(json["growth"].size() == 2);
  CHECK(json["not_measured"][0]["status"] == "skipped_predicted");
}

TEST_CASE("points are spelled by the keys that differ", "[run]") {
  std::vector<PointRecord> records(2);
  records[0].point = made_up_point("paged", 1, 10);
  records[1].point = made_up_point("paged", 1, 20);
  CHECK(Spelling(records).of(records[1].point) == "new_tokens=20");
  CHECK(Spelling(records).of(records[1].point, "new_tokens") == canonical(records[1].point));
  records[1].point.k_element = records[1].point.v_element = "int8";
  CHECK(Spelling(records).of(records[0].point) == "cache_element=f16 new_tokens=10");
  records[1].point.v_element = "int4";
  CHECK(Spelling(records).of(records[1].point) == "k_element=int8 v_element=int4 new_tokens=20");
  records.pop_back();
  CHECK(Spelling(records).of(records[0].point) == canonical(records[0].point));
}

TEST_CASE("defaults that most points have are not spelled", "[run]") {
  std::vector<PointRecord> records(3);
  for (PointRecord& record : records) record.point = made_up_point("contiguous", 1, 10);
  records[2].point.batch = 2;
  records[1].point.cache = records[2].point.cache = "paged";
  CHECK(Spelling(records).of(records[0].point) == "cache=contiguous");
  CHECK(Spelling(records).of(records[2].point) == "cache=paged batch=2");
}

}  // namespace
}  // namespace kvmeter::laws

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/laws/claims.hpp"

#include <catch2/catch_test_macros.hpp>

namespace kvmeter::laws {
namespace {

PointRecord sound_record() {
  PointRecord record;
  record.values["cache_rows_compared"] = std::int64_t{100};
  record.values["cache_rows_changed"] = std::int64_t{0};
  record.values["decode_max_difference"] = 1e-6;
  record.values["check_bound"] = 2e-4;
  record.values["effective_weight_element"] = std::string("f32");
  record.values["live_labels"] =
      std::string("kvmeter::activations::qkv 4096\nkvmeter::cache::k 800\nkvmeter::cache::v 800\n");
  return record;
}

TEST_CASE("claims that hold are told with their numbers", "[run]") {
  const Claims c = claims_of(sound_record());
  CHECK(c.rows == Verdict::holds);
  CHECK(c.decode == Verdict::holds);
  CHECK(c.labels == Verdict::holds);
  REQUIRE(c.live.size() == 3);
  CHECK(c.live[1].label == "kvmeter::cache::k");
  CHECK(c.live[1].bytes == 800);
  CHECK(claim_mistakes(c).empty());
}

TEST_CASE("a changed row, another decoding and a cached Q each fail", "[run]") {
  PointRecord record = sound_record();
  record.values["cache_rows_changed"] = std::int64_t{2};
  record.values["decode_max_difference"] = 0.1;
  record.values["live_labels"] = std::string("kvmeter::cache::q 800\n");
  const Claims c = claims_of(record);
  CHECK(c.rows == Verdict::fails);
  CHECK(c.decode == Verdict::fails);
  CHECK(c.labels == Verdict::fails);
  CHECK(claim_mistakes(c).size() == 3);
}

TEST_CASE("with 16-bit weights decoding is no law, and what was not measured is none", "[run]") {
  PointRecord record = sound_record();
  record.values["decode_max_difference"] = 0.1;
  record.values["effective_weight_element"] = std::string("bf16");
  CHECK(claims_of(record).decode == Verdict::none);
  CHECK(claim_mistakes(claims_of(record)).empty());
  CHECK(claims_of(PointRecord{}).rows == Verdict::none);
  CHECK(claims_of(PointRecord{}).labels == Verdict::none);
}

}  // namespace
}  // namespace kvmeter::laws

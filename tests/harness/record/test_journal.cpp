// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>

#include "harness/core/error.hpp"
#include "harness/record/journal.hpp"
#include "tests/harness/record/made_up_records.hpp"
#include "tests/support/temp_dir.hpp"

using namespace kvmeter;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

PointRecord small_record() {
  PointRecord record = test::made_up_records().back();
  record.samples = {{1, 2, Phase::decode, 3, 4, 0.1, true}};
  record.values["itl_s"] = 1.0 / 3;
  return record;
}

void check_equal(const PointRecord& a, const PointRecord& b) {
  CHECK(a.point_hash == b.point_hash);
  CHECK(a.point == b.point);
  CHECK(a.status == b.status);
  CHECK(a.message == b.message);
  CHECK(a.values == b.values);
  REQUIRE(a.samples.size() == b.samples.size());
  for (std::size_t i = 0; i < a.samples.size(); ++i) {
    const Sample &s = a.samples[i], &t = b.samples[i];
    CHECK(std::tie(s.trial, s.index, s.phase, s.context_len, s.n_tokens, s.is_warmup) ==
          std::tie(t.trial, t.index, t.phase, t.context_len, t.n_tokens, t.is_warmup));
    CHECK((s.time_s == t.time_s || (std::isnan(s.time_s) && std::isnan(t.time_s))));
  }
}

PointRecord stored_and_loaded(const Journal& journal, const PointRecord& record) {
  journal.store(record);
  JournalEntry entry = journal.load(record.point_hash);
  INFO(entry.problem);
  REQUIRE(entry.record.has_value());
  return std::move(*entry.record);
}

}  // namespace

TEST_CASE("the journal gives back what was stored", "[record]") {
  const test::TempDir folder;
  const Journal journal = Journal::create(folder / "out.h5.journal");
  for (const PointRecord& record : test::made_up_records())
    check_equal(stored_and_loaded(journal, record), record);
  const JournalContents all = journal.load_all();
  CHECK(all.records.size() == test::made_up_records().size());
  CHECK(all.problems.empty());
}

TEST_CASE("odd strings and numbers survive the journal", "[record]") {
  const test::TempDir folder;
  const Journal journal = Journal::create(folder / "j");
  PointRecord record = small_record();
  record.point.model = "a folder/with blanks = \"quotes\"";
  record.point.temperature = 0.1;
  record.point.ignore_eos = false;
  record.message = "one\ttwo \xE2\x82\xAC";
  record.values["declared_flops"] = std::numeric_limits<std::int64_t>::max();
  record.values["itl_s"] = 5e-324;
  record.values["check_bound"] = 2.0;  // stays real
  check_equal(stored_and_loaded(journal, record), record);
}

TEST_CASE("bytes that are no UTF-8 do not stop the journal", "[record]") {
  const test::TempDir folder;
  const Journal journal = Journal::create(folder / "j");
  PointRecord record = small_record();
  record.message = "bad \xFF byte";
  CHECK(stored_and_loaded(journal, record).message == "bad \xEF\xBF\xBD byte");
}

TEST_CASE("missing values stay missing", "[record]") {
  const test::TempDir folder;
  const Journal journal = Journal::create(folder / "j");
  PointRecord record = small_record();
  record.values["itl_s"] = kNaN;
  record.values["ttft_s"] = kInfinity;
  record.samples.front().time_s = -kInfinity;
  const PointRecord loaded = stored_and_loaded(journal, record);
  CHECK_FALSE(loaded.values.contains("itl_s"));
  CHECK_FALSE(loaded.values.contains("ttft_s"));
  CHECK(std::isnan(loaded.samples.front().time_s));
}

TEST_CASE("an absent point is no problem, a bad name finds nothing", "[record]") {
  const test::TempDir folder;
  const Journal journal = Journal::create(folder / "j");
  for (const std::string hash : {"0123456789abcdef", "../../etc/passwd", ""}) {
    const JournalEntry entry = journal.load(hash);
    CHECK_FALSE(entry.record.has_value());
    CHECK(entry.problem.empty());
  }
}

TEST_CASE("no flipped bit makes a wrong record", "[record]") {
  const test::TempDir folder;
  const Journal journal = Journal::create(folder / "j");
  const PointRecord record = small_record();
  journal.store(record);
  const auto file = folder / "j" / (record.point_hash + ".json");
  const std::string whole = test::read_bytes(file);
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (const int mask : {1, 0x20, 0xFF}) {  // 0x20 swaps letter case
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ mask);
      test::write_bytes(file, damaged);
      const JournalEntry entry = journal.load(record.point_hash);
      if (entry.record) FAIL("byte " << i << " flipped by " << mask << " was not noticed");
      REQUIRE_FALSE(entry.problem.empty());
    }
}

TEST_CASE("no truncated file makes a record", "[record]") {
  const test::TempDir folder;
  const Journal journal = Journal::create(folder / "j");
  const PointRecord record = small_record();
  journal.store(record);
  const auto file = folder / "j" / (record.point_hash + ".json");
  const std::string whole = test::read_bytes(file);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    test::write_bytes(file, whole.substr(0, length));
    const JournalEntry entry = journal.load(record.point_hash);
    if (entry.record) FAIL("a file of " << length << " bytes was taken for whole");
    REQUIRE_THAT(entry.problem, ContainsSubstring(record.point_hash));
  }
  test::write_bytes(file, whole + whole);
  CHECK_FALSE(journal.load(record.point_hash).record.has_value());
}

TEST_CASE("a damaged file is reported and does not hide the others", "[record]") {
  const test::TempDir folder;
  const Journal journal = Journal::create(folder / "j");
  const auto records = test::made_up_records();
  for (const PointRecord& record : records) journal.store(record);
  test::write_bytes(folder / "j" / (records[0].point_hash + ".json"), "{}");
  test::write_bytes(folder / "j" / "notes.txt", "not ours");
  const JournalContents all = journal.load_all();
  CHECK(all.records.size() == records.size() - 1);
  REQUIRE(all.problems.size() == 1);
  CHECK_THAT(all.problems[0], ContainsSubstring(records[0].point_hash));
}

TEST_CASE("a whole file under another point's name is not that point", "[record]") {
  const test::TempDir folder;
  const Journal journal = Journal::create(folder / "j");
  const PointRecord record = small_record();
  journal.store(record);
  std::filesystem::rename(folder / "j" / (record.point_hash + ".json"),
                          folder / "j" / "0123456789abcdef.json");
  CHECK_THAT(journal.load("0123456789abcdef").problem, ContainsSubstring("another point"));
}

TEST_CASE("a file of another schema version is set aside", "[record]") {
  const test::TempDir folder;
  const Journal journal = Journal::create(folder / "j");
  test::write_bytes(folder / "j" / "0123456789abcdef.json", "{\"schema\":0,\"checksum\":\"\"}\n");
  CHECK_THAT(journal.load("0123456789abcdef").problem, ContainsSubstring("schema"));
}

TEST_CASE("a record that breaks the schema is not stored", "[record]") {
  const test::TempDir folder;
  const Journal journal = Journal::create(folder / "j");
  PointRecord record = small_record();
  record.values["no_such_thing"] = 1.0;
  CHECK_THROWS_AS(journal.store(record), Error);
  record = small_record();
  record.point_hash = "short";
  CHECK_THROWS_AS(journal.store(record), Error);
  CHECK(journal.load_all().records.empty());
}

TEST_CASE("attributes are kept beside the points", "[record]") {
  const test::TempDir folder;
  const Journal journal = Journal::create(folder / "j");
  CHECK(journal.load_attributes().attributes.empty());
  CHECK(journal.load_attributes().problem.empty());
  journal.store_attributes(test::made_up_attributes());
  CHECK(journal.load_attributes().attributes == test::made_up_attributes());
  CHECK(journal.load_all().records.empty());

  const auto file = folder / "j" / "attributes.json";
  test::write_bytes(file, test::read_bytes(file) + "x");
  CHECK(journal.load_attributes().attributes.empty());
  CHECK_THAT(journal.load_attributes().problem, ContainsSubstring("attributes.json"));
}

TEST_CASE("clearing a journal leaves what is not its own", "[record]") {
  const test::TempDir folder;
  const Journal journal = Journal::create(folder / "j");
  journal.store(small_record());
  journal.store_attributes(test::made_up_attributes());
  test::write_bytes(folder / "j" / "notes.txt", "mine");
  journal.clear();
  CHECK(journal.load_all().records.empty());
  CHECK(journal.load_attributes().attributes.empty());
  CHECK(test::read_bytes(folder / "j" / "notes.txt") == "mine");
}

TEST_CASE("a journal that cannot be made says so", "[record]") {
  const test::TempDir folder;
  test::write_bytes(folder / "file", "");
  CHECK_THROWS_AS(Journal::create(folder / "file"), Error);
  CHECK_THROWS_AS(Journal::create(folder / "none/j"), Error);
  CHECK_THROWS_AS(Journal::open(folder / "none"), Error);
  CHECK(journal_folder("runs/out.h5") == std::filesystem::path("runs/out.h5.journal"));
}

TEST_CASE("a hash depends on each part and on where parts end", "[record]") {
  const auto hash = [](std::string_view point, std::vector<std::string> parts) {
    return point_hash(point, parts);
  };
  CHECK(hash("model=tiny", {"a"}).size() == 16);
  CHECK(hash("model=tiny", {"a"}) == hash("model=tiny", {"a"}));
  CHECK(hash("model=tiny", {"a"}) != hash("model=tin", {"a"}));
  CHECK(hash("model=tiny", {"ab", "c"}) != hash("model=tiny", {"a", "bc"}));
  CHECK(hash("model=tiny", {"a"}) != hash("model=tiny", {"a", ""}));
}

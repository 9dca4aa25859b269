// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "harness/core/error.hpp"
#include "harness/record/journal.hpp"
#include "harness/record/merge.hpp"
#include "harness/record/result_file.hpp"
#include "tests/harness/record/made_up_records.hpp"
#include "tests/harness/record/result_reader.hpp"
#include "tests/support/temp_dir.hpp"

using namespace kvmeter;
using Paths = std::vector<std::filesystem::path>;

namespace {

/// Two journals that share out the made-up points, as two shards of a sweep would.
Paths two_journals(const test::TempDir& folder) {
  const Paths paths{folder / "a", folder / "b"};
  const Journal journals[] = {Journal::create(paths[0]), Journal::create(paths[1])};
  auto records = test::made_up_records();
  std::ranges::reverse(records);
  for (std::size_t i = 0; i < records.size(); ++i) journals[i % 2].store(records[i]);
  for (const Journal& journal : journals) journal.store_attributes(test::made_up_attributes());
  return paths;
}

}  // namespace

TEST_CASE("merged journals make the file of the undivided run", "[record]") {
  const test::TempDir folder;
  const Paths journals = two_journals(folder);
  const auto vocabulary = test::made_up_vocabulary();
  const MergeSummary summary = merge_journals(folder / "merged.h5", journals, vocabulary);
  CHECK(summary.n_points == test::made_up_records().size());
  CHECK(summary.n_duplicates == 0);
  CHECK(summary.problems.empty());
  write_result(folder / "whole.h5", test::made_up_records(), test::made_up_attributes(),
               vocabulary);
  CHECK(test::read_bytes(folder / "merged.h5") == test::read_bytes(folder / "whole.h5"));
}

TEST_CASE("merging again changes nothing, in whatever order", "[record]") {
  const test::TempDir folder;
  const Paths journals = two_journals(folder);
  const auto vocabulary = test::made_up_vocabulary();
  merge_journals(folder / "out.h5", journals, vocabulary);
  const std::string first = test::read_bytes(folder / "out.h5");
  const Paths again{journals[1], journals[0], journals[1]};
  const MergeSummary summary = merge_journals(folder / "out.h5", again, vocabulary);
  CHECK(summary.n_points == test::made_up_records().size());
  CHECK(summary.n_duplicates > 0);
  CHECK(test::read_bytes(folder / "out.h5") == first);
}

TEST_CASE("of two records of one point the good one is taken", "[record]") {
  const test::TempDir folder;
  const Paths journals{folder / "bad", folder / "good"};
  PointRecord good = test::made_up_records().front();
  PointRecord bad = good;
  bad.status = Status::timeout;
  Journal::create(journals[0]).store(bad);
  Journal::create(journals[1]).store(good);
  merge_journals(folder / "out.h5", journals, test::made_up_vocabulary());
  const test::ResultReader file(folder / "out.h5");
  CHECK(file.read<std::int64_t>("status") == std::vector<std::int64_t>{0});
}

TEST_CASE("texts of journals are joined, disputed numbers left out", "[record]") {
  const test::TempDir folder;
  const Paths journals = two_journals(folder);
  Attributes other = test::made_up_attributes();
  other["host"] = std::string("other");
  other["peak_read_bandwidth"] = 1e9;
  Journal::open(journals[1]).store_attributes(other);
  merge_journals(folder / "out.h5", journals, test::made_up_vocabulary());
  const test::ResultReader file(folder / "out.h5");
  CHECK(file.text_attribute(".", "host") == "example\nother");
  CHECK_FALSE(file.has_attribute(".", "peak_read_bandwidth"));
  CHECK(file.text_attribute(".", "merge_notes") == "journals disagree on peak_read_bandwidth");
}

TEST_CASE("damaged journal files are named, the rest is merged", "[record]") {
  const test::TempDir folder;
  const Paths journals = two_journals(folder);
  test::write_bytes(journals[0] / (test::made_up_records()[0].point_hash + ".json"), "x");
  const MergeSummary summary =
      merge_journals(folder / "out.h5", journals, test::made_up_vocabulary());
  CHECK(summary.n_points == test::made_up_records().size() - 1);
  CHECK(summary.problems.size() == 1);
}

TEST_CASE("an empty journal makes an empty file, an absent one is an error", "[record]") {
  const test::TempDir folder;
  Journal::create(folder / "empty");
  merge_journals(folder / "out.h5", Paths{folder / "empty"}, {});
  CHECK(test::ResultReader(folder / "out.h5").size("point") == 0);
  CHECK_THROWS_AS(merge_journals(folder / "o.h5", Paths{folder / "no"}, {}), Error);
  CHECK_FALSE(std::filesystem::exists(folder / "o.h5"));
}

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>

#include "harness/core/error.hpp"
#include "harness/record/result_file.hpp"
#include "tests/harness/record/made_up_records.hpp"
#include "tests/harness/record/result_reader.hpp"
#include "tests/support/temp_dir.hpp"

using namespace kvmeter;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using test::ResultReader;

namespace {

void write(const std::filesystem::path& file, const std::vector<PointRecord>& records) {
  write_result(file, records, test::made_up_attributes(), test::made_up_vocabulary());
}

}  // namespace

TEST_CASE("every variable of the schema is in the file, on its dimension", "[record]") {
  const test::TempDir folder;
  write(folder / "out.h5", test::made_up_records());
  const ResultReader file(folder / "out.h5");
  std::vector<std::string> expected{"point", "sample"};
  for (const Variable& variable : point_variables()) expected.push_back(variable.name);
  for (const Variable& variable : sample_variables()) expected.push_back(variable.name);
  CHECK(file.variables() == expected);
  for (const Variable& variable : point_variables()) {
    CAPTURE(variable.name);
    CHECK(file.is_attached(variable.name, "point"));
    CHECK(file.size(variable.name) == test::made_up_records().size());
    CHECK(file.text_attribute(variable.name, "long_name") == variable.description);
    CHECK(file.has_attribute(variable.name, "units") == !variable.units.empty());
    CHECK(file.has_attribute(variable.name, "role") == (variable.source == Source::key));
  }
  for (const Variable& variable : sample_variables())
    CHECK(file.is_attached(variable.name, "sample"));
  CHECK(file.is_scale("point"));
  CHECK(file.is_scale("sample"));
}

TEST_CASE("values come out as they went in", "[record]") {
  const test::TempDir folder;
  const auto records = test::made_up_records();
  write(folder / "out.h5", records);
  const ResultReader file(folder / "out.h5");
  const auto model = file.read<std::string>("model");
  const auto hash = file.read<std::string>("point_hash");
  const auto prompt_tokens = file.read<std::int64_t>("prompt_tokens");
  const auto itl_s = file.read<double>("itl_s");
  const auto order = file.read<std::int64_t>("order");
  for (std::size_t i = 0; i + 1 < records.size(); ++i) {
    CHECK(model[i] == records[i].point.model);
    CHECK(hash[i] == records[i].point_hash);
    CHECK(prompt_tokens[i] == records[i].point.prompt_tokens);
    CHECK(itl_s[i] == std::get<double>(records[i].values.at("itl_s")));
    CHECK(order[i] == static_cast<std::int64_t>(i));
  }
  CHECK(file.read<std::string>("message").back() == records.back().message);
  CHECK(file.text_attribute("itl_s", "units") == "s");
  CHECK(file.text_attribute("decode_tokens_per_s", "units") == "token s-1");
}

TEST_CASE("samples are tied to their points", "[record]") {
  const test::TempDir folder;
  const auto records = test::made_up_records();
  write(folder / "out.h5", records);
  const ResultReader file(folder / "out.h5");
  const auto point = file.read<std::int64_t>("sample_point");
  const auto time_s = file.read<double>("sample_time_s");
  const auto phase = file.read<std::int64_t>("sample_phase");
  std::size_t i = 0;
  for (std::size_t p = 0; p < records.size(); ++p)
    for (const Sample& sample : records[p].samples) {
      REQUIRE(point[i] == static_cast<std::int64_t>(p));
      REQUIRE(time_s[i] == sample.time_s);
      REQUIRE(phase[i] == static_cast<std::int64_t>(sample.phase));
      ++i;
    }
  CHECK(i == point.size());
}

TEST_CASE("choices are codes that the file explains", "[record]") {
  const test::TempDir folder;
  write(folder / "out.h5", test::made_up_records());
  const ResultReader file(folder / "out.h5");
  CHECK(file.text_attribute("cache", "flag_meanings") == "none contiguous");
  CHECK(file.number_attribute("cache", "flag_values") == std::vector<double>{0, 1});
  CHECK(file.read<std::int64_t>("cache") == std::vector<std::int64_t>{0, 0, 0, 0, 1, 1, 1, 1, 1});
  CHECK_THAT(file.text_attribute("status", "flag_meanings"), StartsWith("ok incorrect"));
  CHECK(file.read<std::int64_t>("status").back() == static_cast<int>(Status::unsupported));
  CHECK(file.read<std::int64_t>("ignore_eos").front() == 1);
}

TEST_CASE("what was not measured is missing and never zero", "[record]") {
  const test::TempDir folder;
  auto records = test::made_up_records();
  records[0].values["itl_s"] = std::numeric_limits<double>::infinity();
  records[0].samples[0].time_s = std::numeric_limits<double>::infinity();
  write(folder / "out.h5", records);
  const ResultReader file(folder / "out.h5");
  CHECK(std::isnan(file.read<double>("itl_s").front()));
  CHECK(std::isnan(file.read<double>("sample_time_s").front()));
  for (const Variable& variable : point_variables()) {
    if (variable.source != Source::measured || records.back().values.contains(variable.name))
      continue;
    CAPTURE(variable.name);
    switch (variable.type) {
      case ValueType::real:
        CHECK(std::isnan(file.read<double>(variable.name).back()));
        break;
      case ValueType::text:
        CHECK(file.read<std::string>(variable.name).back().empty());
        break;
      case ValueType::int64:
        CHECK(file.read<std::int64_t>(variable.name).back() ==
              std::numeric_limits<std::int64_t>::min());
        break;
      case ValueType::choice:
        CHECK(file.read<std::int64_t>(variable.name).back() == -1);
        break;
    }
    CHECK(file.has_attribute(variable.name, "_FillValue") == (variable.type != ValueType::text));
  }
}

TEST_CASE("no points and no samples make a whole file", "[record]") {
  const test::TempDir folder;
  write(folder / "none.h5", {});
  CHECK(ResultReader(folder / "none.h5").size("point") == 0);
  CHECK(ResultReader(folder / "none.h5").size("cache") == 0);
  write(folder / "no_samples.h5", {test::made_up_records().back()});
  CHECK(ResultReader(folder / "no_samples.h5").size("point") == 1);
  CHECK(ResultReader(folder / "no_samples.h5").size("sample_time_s") == 0);
}

TEST_CASE("attributes of any length are kept", "[record]") {
  const test::TempDir folder;
  Attributes attributes = test::made_up_attributes();
  attributes["sweep_text"] = std::string(200'000, 'x');
  attributes["description"] = std::string();
  attributes["host"] = std::string("bad \xFF byte");
  attributes["peak_matmul_rate"] = std::numeric_limits<double>::quiet_NaN();
  write_result(folder / "out.h5", {}, attributes, {});
  const ResultReader file(folder / "out.h5");
  CHECK(file.text_attribute(".", "sweep_text").size() == 200'000);
  CHECK(file.text_attribute(".", "description").empty());
  CHECK(file.text_attribute(".", "host") == "bad \xEF\xBF\xBD byte");
  CHECK(file.number_attribute(".", "schema_version") ==
        std::vector<double>{static_cast<double>(schema_version)});
  CHECK(file.number_attribute(".", "peak_read_bandwidth") == std::vector<double>{25.4e9});
  CHECK_FALSE(file.has_attribute(".", "peak_matmul_rate"));
}

TEST_CASE("names that this program does not know get the next codes", "[record]") {
  const test::TempDir folder;
  auto records = test::made_up_records();
  records[0].point.cache = "paged";
  write(folder / "out.h5", records);
  const ResultReader file(folder / "out.h5");
  CHECK(file.text_attribute("cache", "flag_meanings") == "none contiguous paged");
  CHECK(file.read<std::int64_t>("cache").front() == 2);
}

TEST_CASE("a record outside the schema leaves no file", "[record]") {
  const test::TempDir folder;
  auto records = test::made_up_records();
  records[0].values["no_such_thing"] = 1.0;
  CHECK_THROWS_AS(write(folder / "out.h5", records), Error);
  records = test::made_up_records();
  records[0].point.backend = "abacus";
  CHECK_THROWS_AS(write(folder / "out.h5", records), Error);
  CHECK_THROWS_AS(write(folder / "none/out.h5", test::made_up_records()), Error);
  CHECK(folder.n_files() == 0);
}

TEST_CASE("the same records make the same bytes, in the format of HDF5 1.8", "[record]") {
  const test::TempDir folder;
  write(folder / "a.h5", test::made_up_records());
  write(folder / "b.h5", test::made_up_records());
  const std::string bytes = test::read_bytes(folder / "a.h5");
  CHECK(bytes == test::read_bytes(folder / "b.h5"));
  REQUIRE(bytes.size() > 9);
  CHECK(bytes.substr(1, 3) == "HDF");
  CHECK(static_cast<int>(bytes[8]) <= 2);  // superblock version
}

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <hdf5.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>

#include "harness/core/error.hpp"
#include "harness/record/read_result.hpp"
#include "harness/record/result_file.hpp"
#include "tests/harness/record/made_up_records.hpp"
#include "tests/support/temp_dir.hpp"

using namespace kvmeter;
using Catch::Matchers::ContainsSubstring;

namespace {

void write(const std::filesystem::path& file, const std::vector<PointRecord>& records) {
  write_result(file, records, test::made_up_attributes(), test::made_up_vocabulary());
}

void check_samples(const std::vector<Sample>& in, const std::vector<Sample>& out) {
  REQUIRE(in.size() == out.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    REQUIRE(in[i].trial == out[i].trial);
    REQUIRE(in[i].index == out[i].index);
    REQUIRE(in[i].phase == out[i].phase);
    REQUIRE(in[i].context_len == out[i].context_len);
    REQUIRE(in[i].n_tokens == out[i].n_tokens);
    REQUIRE(in[i].time_s == out[i].time_s);
    REQUIRE(in[i].is_warmup == out[i].is_warmup);
  }
}

std::string refusal(const std::filesystem::path& file) {
  try {
    read_result(file);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// Changes a written file behind the writer's back.
template <class Change>
void change(const std::filesystem::path& file, const Change& change_one) {
  const hid_t id = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  REQUIRE(id >= 0);
  change_one(id);
  REQUIRE(H5Fclose(id) >= 0);
}

}  // namespace

TEST_CASE("records and attributes come back as they were written", "[record]") {
  const test::TempDir folder;
  auto records = test::made_up_records();
  records[0].point.ignore_eos = false;
  records[0].point.top_p = 0.25;
  records[1].point.text = "a text.safetensors";
  records[1].values["cache_ledger_bytes"] = std::int64_t{4'294'967'297};
  records[1].values["effective_k_element"] = std::string("bf16");
  write(folder / "out.h5", records);
  const ResultFile file = read_result(folder / "out.h5");
  CHECK(file.attributes == test::made_up_attributes());
  REQUIRE(file.records.size() == records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    CAPTURE(i);
    CHECK(file.records[i].point_hash == records[i].point_hash);
    CHECK(file.records[i].point == records[i].point);
    CHECK(file.records[i].status == records[i].status);
    CHECK(file.records[i].message == records[i].message);
    CHECK(file.records[i].values == records[i].values);
    check_samples(file.records[i].samples, records[i].samples);
  }
}

TEST_CASE("what is read can be written again to the same bytes", "[record]") {
  const test::TempDir folder;
  write(folder / "a.h5", test::made_up_records());
  const ResultFile file = read_result(folder / "a.h5");
  write_result(folder / "b.h5", file.records, file.attributes, test::made_up_vocabulary());
  CHECK(test::read_bytes(folder / "a.h5") == test::read_bytes(folder / "b.h5"));
}

TEST_CASE("missing values are absent, whatever their type", "[record]") {
  const test::TempDir folder;
  auto records = test::made_up_records();
  records[0].values["itl_s"] = std::numeric_limits<double>::quiet_NaN();
  records[0].values.erase("n_heads");
  records[0].values.erase("stop_reason");
  records[0].values["effective_decode_matmul"] = std::string();
  write(folder / "out.h5", records);
  const auto values = read_result(folder / "out.h5").records[0].values;
  for (const char* name : {"itl_s", "n_heads", "stop_reason", "effective_decode_matmul"}) {
    CAPTURE(name);
    CHECK_FALSE(values.contains(name));
  }
}

TEST_CASE("names of choices are those of the file", "[record]") {
  const test::TempDir folder;
  auto records = test::made_up_records();
  records[0].point.cache = "cuckoo";
  write_result(folder / "out.h5", records, {}, {{{"cache", {"contiguous", "none"}}}});
  const ResultFile file = read_result(folder / "out.h5");
  for (std::size_t i = 0; i < records.size(); ++i)
    CHECK(file.records[i].point.cache == records[i].point.cache);
}

TEST_CASE("a file without points is read as such", "[record]") {
  const test::TempDir folder;
  write(folder / "out.h5", {});
  CHECK(read_result(folder / "out.h5").records.empty());
  CHECK(read_result(folder / "out.h5").attributes == test::made_up_attributes());
}

TEST_CASE("a file that is no result is refused by name", "[record]") {
  const test::TempDir folder;
  CHECK_THAT(refusal(folder / "absent.h5"), ContainsSubstring("absent.h5: no such file"));
  test::write_bytes(folder / "text.h5", "point,itl_s\n");
  CHECK_THAT(refusal(folder / "text.h5"), ContainsSubstring("text.h5: cannot be opened as HDF5"));
  CHECK_THAT(refusal(folder.path()), ContainsSubstring("is a folder"));
  const hid_t other = H5Fcreate((folder / "o.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  H5Fclose(other);
  CHECK_THAT(refusal(folder / "o.h5"), ContainsSubstring("o.h5: no result file"));
}

TEST_CASE("a file of another schema version is refused", "[record]") {
  const test::TempDir folder;
  write(folder / "out.h5", test::made_up_records());
  change(folder / "out.h5", [](hid_t file) {
    const std::int64_t version = schema_version + 1;
    const hid_t attribute = H5Aopen(file, "schema_version", H5P_DEFAULT);
    H5Awrite(attribute, H5T_NATIVE_INT64, &version);
    H5Aclose(attribute);
  });
  CHECK_THAT(refusal(folder / "out.h5"), ContainsSubstring("out.h5: has schema_version"));
}

TEST_CASE("a variable that records cannot do without is named, another is absent", "[record]") {
  const test::TempDir folder;
  write(folder / "out.h5", test::made_up_records());
  change(folder / "out.h5", [](hid_t file) { H5Ldelete(file, "itl_s", H5P_DEFAULT); });
  CHECK_FALSE(read_result(folder / "out.h5").records[0].values.contains("itl_s"));
  change(folder / "out.h5", [](hid_t file) { H5Ldelete(file, "batch", H5P_DEFAULT); });
  CHECK_THAT(refusal(folder / "out.h5"), ContainsSubstring("out.h5: cannot open 'batch'"));
}

TEST_CASE("values that make no sense are refused with their variable", "[record]") {
  const test::TempDir folder;
  const auto set_first = [&](const char* name, std::int64_t value) {
    write(folder / "out.h5", test::made_up_records());
    change(folder / "out.h5", [&](hid_t file) {
      const hsize_t one = 1;
      const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
      const hid_t memory = H5Screate_simple(1, &one, nullptr);
      const hid_t first = H5Dget_space(dataset);
      const hsize_t start = 0;
      H5Sselect_hyperslab(first, H5S_SELECT_SET, &start, nullptr, &one, nullptr);
      REQUIRE(H5Dwrite(dataset, H5T_NATIVE_INT64, memory, first, H5P_DEFAULT, &value) >= 0);
      H5Sclose(first);
      H5Sclose(memory);
      H5Dclose(dataset);
    });
    return refusal(folder / "out.h5");
  };
  CHECK_THAT(set_first("cache", 77), ContainsSubstring("out.h5: cache has a code 77"));
  CHECK_THAT(set_first("batch", 0), ContainsSubstring("out.h5: batch = 0: out of range"));
  CHECK_THAT(set_first("sample_point", 99), ContainsSubstring("out.h5: sample_point = 99"));
  CHECK_THAT(set_first("sample_point", -1), ContainsSubstring("out.h5: sample_point = -1"));
}

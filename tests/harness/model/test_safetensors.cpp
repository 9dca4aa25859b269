// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The reader of safetensors files: sound files, and every way to lie that we thought of, each of
// which has to end in an Error of one line. Run in the sanitizer build too.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <limits>
#include <optional>
#include <random>

#include "harness/core/error.hpp"
#include "harness/model/safetensors.hpp"
#include "tests/harness/model/safetensors_writer.hpp"
#include "tests/support/temp_dir.hpp"

namespace kvmeter::test {
namespace {

/// The message that opening throws; nullopt if it throws none. Touches every byte of what is
/// accepted.
std::optional<std::string> message_of(const std::filesystem::path& path, const std::string& bytes) {
  write_file(path, bytes);
  try {
    const SafetensorsFile file = SafetensorsFile::open(path);
    std::size_t sum = 0;
    for (const auto& [name, tensor] : file.tensors())
      for (const std::byte byte : tensor.data) sum += static_cast<std::size_t>(byte);
    CHECK(sum < SIZE_MAX);
  } catch (const Error& error) {
    return error.what();
  }
  return std::nullopt;
}

struct Case {
  TempDir folder;
  std::filesystem::path path = folder / "model.safetensors";

  void refuses(const std::string& bytes, const std::string& word) const {
    const auto message = message_of(path, bytes);
    CAPTURE(word, message.value_or("(accepted)"));
    CHECK((message && message->starts_with(path.string() + ": ") &&
           message->find('\n') == std::string::npos && message->find(word) != std::string::npos &&
           message->size() < path.string().size() + 400));
  }
  void refuses_header(const std::string& header, const std::string& data,
                      const std::string& word) const {
    refuses(safetensors_bytes(header, data), word);
  }
};

const std::string eight = "01234567";

}  // namespace

TEST_CASE("safetensors: a sound file") {
  const TempDir folder;
  write_file(
      folder / "f",
      safetensors_bytes({{"a", "F32", {2, 1}, bytes_of_values<float>({1.5F, -2})},
                         {"none", "BF16", {0, 7}, ""},
                         {"ids", "I32", {3}, bytes_of_values<std::int32_t>({7, 0, -1})},
                         {"scalar", "I64", {}, bytes_of_values<std::int64_t>({1LL << 40})}}));
  const SafetensorsFile file = SafetensorsFile::open(folder / "f");
  CHECK(file.tensors().size() == 4);
  CHECK(file.at("a").shape == std::vector<std::int64_t>{2, 1});
  CHECK(file.at("a").type == TensorType::F32);
  CHECK(file.at("none").data.empty());
  CHECK(read_ints(file.at("ids")) == std::vector<std::int64_t>{7, 0, -1});
  CHECK(read_ints(file.at("scalar")) == std::vector<std::int64_t>{1LL << 40});
  CHECK(file.find("b") == nullptr);
  CHECK_THROWS_AS(file.at("b"), Error);
  CHECK_THROWS_AS(read_ints(file.at("a")), Error);
}

TEST_CASE("safetensors: tensors stay where they are when the file object moves") {
  const TempDir folder;
  write_file(folder / "f",
             safetensors_bytes({{"ids", "I64", {1}, bytes_of_values<std::int64_t>({5})}}));
  SafetensorsFile first = SafetensorsFile::open(folder / "f");
  const FileTensor* tensor = first.find("ids");
  const SafetensorsFile second = std::move(first);
  CHECK(second.find("ids") == tensor);
  CHECK(read_ints(*tensor) == std::vector<std::int64_t>{5});
}

TEST_CASE("safetensors: a file without tensors, padded headers, offsets in any order") {
  const Case c;
  CHECK_FALSE(message_of(c.path, safetensors_bytes("{}", "")));
  CHECK_FALSE(message_of(c.path, safetensors_bytes("{}      ", "")));
  CHECK_FALSE(message_of(
      c.path, safetensors_bytes(R"({"b": {"dtype": "U8", "shape": [4], "data_offsets": [4, 8]},
    "a": {"shape": [2, 2], "data_offsets": [0, 4], "dtype": "I8"}})",
                                eight)));
}

TEST_CASE("safetensors: truncated at every length") {
  const Case c;
  const std::string whole =
      safetensors_bytes({{"a", "F32", {2}, eight}, {"b", "F16", {2, 2}, eight}});
  REQUIRE_FALSE(message_of(c.path, whole));
  for (std::size_t length = 0; length < whole.size(); ++length)
    CHECK(message_of(c.path, whole.substr(0, length)));
  c.refuses(whole + "x", "belong to no tensor");
}

TEST_CASE("safetensors: header lengths that lie") {
  const Case c;
  const std::string header = R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})";
  c.refuses("", "too few");
  c.refuses(length_field(0), "begin with");
  c.refuses(length_field(1) + "{", "JSON");
  c.refuses(length_field(header.size() - 1) + header + eight, "JSON");
  c.refuses(length_field(header.size() + 1) + header + eight, "JSON");
  c.refuses(length_field(header.size() + 9) + header + eight, "truncated");
  for (const std::uint64_t length :
       {std::uint64_t{100'000'001}, std::uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 7})
    c.refuses(length_field(length) + header + eight, "header length");
}

TEST_CASE("safetensors: headers that are not what they should be") {
  const Case c;
  c.refuses_header("[]", "", "begin with");
  c.refuses_header(" {}", "", "begin with");
  c.refuses_header("{}{}", "", "JSON");
  c.refuses_header("{\"a\"", "", "JSON");
  c.refuses_header("{\"\xff\": 1}", "", "JSON");
  c.refuses_header(R"({"a": 1})", "", "object");
  c.refuses_header(R"({"a": {}})", "", "dtype");
  c.refuses_header(R"({"a": {"dtype": "F32", "shape": [2]}})", eight, "data_offsets");
  c.refuses_header(R"({"a": {"dtype": "F32", "data_offsets": [0, 8]}})", eight, "shape");
  c.refuses_header(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], "more": 1}})",
                   eight, "more");
  c.refuses_header(R"({"__metadata__": 1})", "", "__metadata__");
  c.refuses_header(R"({"__metadata__": {"a": 1}})", "", "__metadata__");
  c.refuses_header("{\"a\": " + std::string(100'000, '['), "", "deep");
  const std::string twice = R"("a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]})";
  c.refuses_header("{" + twice + ", " + twice + "}", eight, "twice");
}

TEST_CASE("safetensors: members that are wrong") {
  const Case c;
  const auto header = [](const std::string& type, const std::string& shape,
                         const std::string& offsets) {
    return R"({"a": {"dtype": )" + type + R"(, "shape": )" + shape + R"(, "data_offsets": )" +
           offsets + "}}";
  };
  for (const std::string type : {"\"F31\"", "\"f32\"", "\"\"", "32", "null", "[\"F32\"]"})
    c.refuses_header(header(type, "[2]", "[0, 8]"), eight, "tensor a: ");
  for (const std::string shape :
       {"2", "[-2]", "[2.0]", "[\"2\"]", "[[2]]", "null", "{}", "[18446744073709551615]"})
    c.refuses_header(header("\"F32\"", shape, "[0, 8]"), eight, "shape");
  for (const std::string offsets :
       {"8", "[8]", "[0, 8, 8]", "[-8, 0]", "[0, 8.0]", "[]", "null", "[0, 18446744073709551615]",
        "[8, 0]", "[0, 9]", "[1, 9]", "[9, 9]", "[9223372036854775807, 9223372036854775807]"})
    c.refuses_header(header("\"F32\"", "[2]", offsets), eight, "data_offsets");
  for (const std::string shape :
       {"[1]", "[3]", "[]", "[0]", "[2, 0]", "[4294967296, 4294967296]", "[4611686018427387904, 2]",
        "[9223372036854775807, 9223372036854775807, 9223372036854775807]"})
    c.refuses_header(header("\"F32\"", shape, "[0, 8]"), eight, "needs");
}

TEST_CASE("safetensors: bytes of two tensors, and of none") {
  const Case c;
  const auto header = [](const std::string& a, const std::string& b) {
    return R"({"a": {"dtype": "U8", "shape": [4], "data_offsets": )" + a +
           R"(}, "b": {"dtype": "U8", "shape": [4], "data_offsets": )" + b + "}}";
  };
  c.refuses_header(header("[0, 4]", "[2, 6]"), "012345", "overlaps");
  c.refuses_header(header("[0, 4]", "[0, 4]"), "0123", "overlaps");
  c.refuses_header(header("[2, 6]", "[0, 4]"), "012345", "overlaps");
  c.refuses_header(header("[0, 4]", "[5, 9]"), "012345678", "before tensor b");
  c.refuses_header(header("[1, 5]", "[5, 9]"), "012345678", "before tensor a");
  c.refuses_header(header("[0, 4]", "[4, 8]"), "012345678", "last 1 bytes");
  c.refuses_header("{}", "x", "last 1 bytes");
}

TEST_CASE("safetensors: any one byte changed is refused or harmless") {
  const Case c;
  const std::string whole =
      safetensors_bytes({{"a", "F32", {2}, eight}, {"b", "F16", {2, 2}, eight}});
  std::mt19937 random(1);
  for (std::size_t at = 0; at + 16 < whole.size(); ++at)
    for (int i = 0; i < 4; ++i) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(random());
      const auto message = message_of(c.path, bytes);
      CHECK((!message || message->find('\n') == std::string::npos));
    }
}

TEST_CASE("safetensors: paths that are no files") {
  const TempDir folder;
  CHECK_THROWS_AS(SafetensorsFile::open(folder / "none"), Error);
  CHECK_THROWS_AS(SafetensorsFile::open(folder.path()), Error);
  CHECK_THROWS_AS(SafetensorsFile::open("/dev/null"), Error);
}

TEST_CASE("safetensors: token ids") {
  const TempDir folder;
  const auto read = [&](const WrittenTensor& tensor) {
    write_file(folder / "ids", safetensors_bytes({tensor}));
    return read_token_ids(folder / "ids");
  };
  const std::vector<std::int32_t> ids{3, 0, 2147483647};
  CHECK(read({"token_ids", "I32", {3}, bytes_of_values<std::int32_t>(ids)}) == ids);
  CHECK(read({"token_ids", "I64", {3}, bytes_of_values<std::int64_t>({3, 0, 2147483647})}) == ids);
  CHECK(read({"token_ids", "I64", {0}, ""}).empty());
  CHECK_THROWS_AS(read({"token_ids", "I64", {1}, bytes_of_values<std::int64_t>({2147483648})}),
                  Error);
  CHECK_THROWS_AS(read({"token_ids", "I32", {1}, bytes_of_values<std::int32_t>({-1})}), Error);
  CHECK_THROWS_AS(read({"token_ids", "F32", {1}, bytes_of_values<float>({1})}), Error);
  CHECK_THROWS_AS(read({"token_ids", "I32", {1, 3}, bytes_of_values<std::int32_t>(ids)}), Error);
  CHECK_THROWS_AS(read({"ids", "I32", {3}, bytes_of_values<std::int32_t>(ids)}), Error);
  CHECK(read_token_ids(folder / "ids", "ids") == ids);
}

}  // namespace kvmeter::test

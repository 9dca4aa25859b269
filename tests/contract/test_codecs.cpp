// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Rows as codecs store them, against the oracle's definitions of each rounding.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cmath>

#include "tests/contract/all_variants.hpp"
#include "tests/oracle/rounding.hpp"
#include "tests/support/all_close.hpp"
#include "tests/support/random.hpp"

namespace kvmeter::test {
namespace {

using Row = std::vector<float>;

/// A row encoded and read back, element by element.
std::vector<double> round_trip(CodecId id, const Row& row, float scale = 1) {
  const RowFormat format{static_cast<std::int32_t>(row.size()), scale};
  std::vector<double> values;
  visit_codec(id, [&](auto codec) {
    using Codec = decltype(codec);
    std::vector<std::uint64_t> memory(
        static_cast<std::size_t>(Codec::row_bytes(format.head_dim)) / 8 + 1);
    auto* bytes = reinterpret_cast<std::byte*>(memory.data());
    Codec::encode_row(row.data(), format, bytes);
    for (std::int32_t i = 0; i < format.head_dim; ++i)
      values.push_back(codec::load_element<Codec>(bytes, i, format));
  });
  return values;
}

std::vector<double> rounded(std::string_view codec, const Row& row) {
  std::vector<double> values(row.begin(), row.end());
  oracle::rounding_of(codec)(values);
  return values;
}

TEST_CASE("Every codec rounds as its definition says, at every head_dim") {
  const auto& codec = GENERATE(from_range(codecs));
  const std::int64_t head_dim = GENERATE(1, 2, 8, 31, 32, 33, 40, 48, 56, 64, 80, 96, 128, 256);
  CAPTURE(codec.name, head_dim);
  Random random("rows");
  for (const double size : {1e-6, 1e-3, 1.0, 30.0, 1e3, 1e5}) {
    const Row row = random.normal(head_dim, size);
    CHECK_THAT(round_trip(codec.id, row), AllClose(rounded(codec.name, row), 0));
  }
}

TEST_CASE("A pack of a row is its elements") {
  const auto& facts = GENERATE(from_range(codecs));
  const std::int32_t head_dim = GENERATE(16, 24, 40, 64, 80, 128);
  CAPTURE(facts.name, head_dim);
  Random random("packs");
  const Row row = random.normal(head_dim, 2);
  const RowFormat format{head_dim, 0.5F};
  visit_codec(facts.id, [&](auto codec) {
    using Codec = decltype(codec);
    std::vector<std::uint64_t> memory(static_cast<std::size_t>(Codec::row_bytes(head_dim)) / 8 + 1);
    auto* bytes = reinterpret_cast<std::byte*>(memory.data());
    Codec::encode_row(row.data(), format, bytes);
    for (std::int32_t first = 0; first < head_dim; first += host_pack_width) {
      std::array<float, host_pack_width> lanes{};
      codec::load_padded<Codec, host_pack_width>(bytes, first, format).store(lanes.data());
      for (std::int32_t i = 0; i < host_pack_width; ++i) {
        const bool inside = first + i < head_dim;
        CHECK(lanes[static_cast<std::size_t>(i)] ==
              (inside ? codec::load_element<Codec>(bytes, first + i, format) : 0.0F));
      }
    }
  });
}

TEST_CASE("fp8 knows all of its 256 patterns, rounds between them to even and saturates") {
  for (int bits = 0; bits < 256; ++bits) {
    const FP8E4M3 x{static_cast<std::uint8_t>(bits)};
    const float value = x;
    CAPTURE(bits, value);
    if ((bits & 0x7f) == 0x7f) {
      CHECK(std::isnan(value));
      continue;
    }
    CHECK(FP8E4M3::from(value).bits == bits);
    const int fraction = bits & 7;
    const int exponent = bits >> 3 & 15;
    const double magnitude =
        exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10);
    CHECK(value == (bits < 128 ? magnitude : -magnitude));
    if ((bits & 0x7f) == 0x7e) continue;
    const float next = FP8E4M3{static_cast<std::uint8_t>(bits + 1)};
    const float middle = (value + next) / 2;
    CHECK((FP8E4M3::from(middle).bits & 1) == 0);
    for (const float beside : {std::nextafter(middle, value), std::nextafter(middle, next)})
      CHECK(static_cast<float>(FP8E4M3::from(beside)) == oracle::round_fp8_e4m3(beside));
  }
  for (const float x : {449.0F, 464.0F, 480.0F, 1e30F, INFINITY}) {
    CHECK(static_cast<float>(FP8E4M3::from(x)) == 448.0F);
    CHECK(static_cast<float>(FP8E4M3::from(-x)) == -448.0F);
  }
  CHECK(std::isnan(static_cast<float>(FP8E4M3::from(NAN))));
}

TEST_CASE("A channel of 600 beside one of 1e-4: fp8 saturates and flushes, groups keep the large") {
  Row row(64, 1e-4F);
  row[5] = 600;
  row[40] = -600;
  const auto fp8 = round_trip(CodecId::fp8_e4m3, row);
  CHECK(fp8[5] == 448);
  CHECK(fp8[40] == -448);
  CHECK(fp8[0] == 0);
  for (const CodecId id : {CodecId::int8, CodecId::int8_row, CodecId::int4}) {
    const auto got = round_trip(id, row);
    CHECK(std::abs(got[5] - 600) < 0.3);
    CHECK(std::abs(got[40] + 600) < 0.3);
    CHECK(got[0] == 0);
  }
  // A scale of the layer brings both into range.
  const auto scaled = round_trip(CodecId::fp8_e4m3, row, 600.0F / 448);
  CHECK(std::abs(scaled[5] - 600) < 1e-4);
}

TEST_CASE("The largest of a group is stored to the scale's accuracy, with either sign") {
  for (const float largest : {1.0F, 3.14159F, 100.0F, 65504.0F}) {
    Row row(32, 0.0F);
    row[0] = largest;
    row[31] = -largest;
    for (const CodecId id : {CodecId::int8, CodecId::int4, CodecId::int8_row}) {
      const auto got = round_trip(id, row);
      CHECK(std::abs(got[0] - largest) <= largest * 0x1p-11);
      CHECK(got[31] == -got[0]);
      CHECK(got[7] == 0);
    }
  }
}

TEST_CASE("All-zero rows and groups are exact, and one does not touch the next") {
  const auto& codec = GENERATE(from_range(codecs));
  CAPTURE(codec.name);
  for (const double x : round_trip(codec.id, Row(80, 0.0F))) CHECK(x == 0);
  Row row(64, 0.0F);
  for (std::size_t i = 32; i < 64; ++i) row[i] = 1000;
  const auto got = round_trip(codec.id, row);
  for (std::size_t i = 0; i < 32; ++i) CHECK(got[i] == 0);
}

TEST_CASE("NaN does not vanish, infinities saturate") {
  const auto& codec = GENERATE(from_range(codecs));
  CAPTURE(codec.name);
  Row row(40, 1.0F);
  row[3] = NAN;
  CHECK(std::isnan(round_trip(codec.id, row)[3]));
  row[3] = INFINITY;
  const auto got = round_trip(codec.id, row);
  if (codec.id != CodecId::f32) CHECK(std::isfinite(got[3]));
  CHECK(got[3] > 400);
}

}  // namespace
}  // namespace kvmeter::test

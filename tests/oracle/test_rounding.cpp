// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/rounding.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "tests/oracle/tensor.hpp"
#include "tests/support/all_close.hpp"
#include "tests/support/random.hpp"

namespace kvmeter::oracle {
namespace {

TEST_CASE("round_f16: ties go to even, subnormals are kept, large values saturate") {
  CHECK(round_f16(1 + 0x1p-11) == 1);
  CHECK(round_f16(1 + 0x1.8p-11) == 1 + 0x1p-10);
  CHECK(round_f16(1 + 0x3p-11) == 1 + 0x1p-9);
  CHECK(round_f16(-2049) == -2048);
  CHECK(round_f16(2051) == 2052);
  CHECK(round_f16(0x1p-24) == 0x1p-24);
  CHECK(round_f16(0x1p-25) == 0);
  CHECK(round_f16(0x3p-25) == 0x1p-23);
  CHECK(round_f16(65519) == 65504);
  CHECK(round_f16(1e6) == 65504);
  CHECK(round_f16(-1e6) == -65504);
}

TEST_CASE("round_bf16, round_f32 and round_fp8_e4m3") {
  CHECK(round_bf16(1 + 0x1p-8) == 1);
  CHECK(round_bf16(1 + 0x3p-8) == 1 + 0x1p-6);
  CHECK(round_bf16(257) == 256);
  CHECK(round_f32(1 + 0x1p-24) == 1);
  CHECK(round_f32(16777217) == 16777216);
  CHECK(round_f32(0.1) == static_cast<double>(0.1F));
  CHECK(round_fp8_e4m3(1.0625) == 1);
  CHECK(round_fp8_e4m3(1.1875) == 1.25);
  CHECK(round_fp8_e4m3(600) == 448);
  CHECK(round_fp8_e4m3(0x1p-9) == 0x1p-9);  // least subnormal
  CHECK(round_fp8_e4m3(0x1p-10) == 0);
}

TEST_CASE("Rounding agrees with the compiler's float conversion") {
  for (const float x : test::Random("floats").normal(200, 10)) {
    const double between = x * (1 + 1e-9);
    CHECK(round_f32(between) == static_cast<double>(static_cast<float>(between)));
  }
}

TEST_CASE("int8_row: one scale for the row") {
  Vector row{127, -63.4, 0.5, 1.5, -127};  // scale 1; ties go to even
  rounding_of("int8_row")(row);
  CHECK(row == Vector{127, -63, 0, 2, -127});
}

TEST_CASE("int8 and int4: a scale for each 32 channels, zeros stay zeros") {
  Vector row(64);
  row[3] = 14;  // int4: scale 2 in the first group, the second is all zero
  row[4] = 2.9;
  row[5] = -5.2;
  rounding_of("int4")(row);
  CHECK(row[3] == 14);
  CHECK(row[4] == 2);
  CHECK(row[5] == -6);
  for (std::size_t i = 32; i < 64; ++i) CHECK(row[i] == 0);

  Vector other(64, 1.0);
  other[40] = 254;  // scale 2 there
  rounding_of("int8")(other);
  CHECK(std::abs(other[0] - 1) < 0x1p-11);  // scale 1/127 in f16
  CHECK(other[41] == 0);
  CHECK(other[40] == 254);
}

TEST_CASE("rounding_of knows its names only") {
  Vector row{0.1, 1e-30};
  rounding_of("none")(row);
  CHECK(row == Vector{0.1, 1e-30});
  CHECK_THROWS(rounding_of("f8"));
}

}  // namespace
}  // namespace kvmeter::oracle

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/core/units.hpp"

#include <catch2/catch_test_macros.hpp>
#include <limits>

using namespace kvmeter;

TEST_CASE("bytes have three digits and powers of 1024", "[cpu]") {
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(1023) == "1023 B");
  CHECK(format_bytes(1024) == "1.00 KiB");
  CHECK(format_bytes(1342177280) == "1.25 GiB");
  CHECK(format_bytes(1048575) == "1.00 MiB");
}

TEST_CASE("times have the unit that fits", "[cpu]") {
  CHECK(format_seconds(0.00123) == "1.23 ms");
  CHECK(format_seconds(9.999e-7) == "1.00 us");
  CHECK(format_seconds(12.34) == "12.3 s");
  CHECK(format_seconds(125) == "2 min 05 s");
  CHECK(format_seconds(3720) == "1 h 02 min");
  CHECK(format_seconds(std::numeric_limits<double>::quiet_NaN()) == "-");
}

TEST_CASE("rates have powers of ten", "[cpu]") {
  CHECK(format_bandwidth(25.4e9) == "25.4 GB/s");
  CHECK(format_bandwidth(9.996e9) == "10.0 GB/s");
  CHECK(format_flop_rate(412e9) == "412 GFLOP/s");
}

TEST_CASE("counts have groups of three", "[cpu]") {
  CHECK(format_count(7) == "7");
  CHECK(format_count(125250) == "125,250");
  CHECK(format_count(-1234567) == "-1,234,567");
}

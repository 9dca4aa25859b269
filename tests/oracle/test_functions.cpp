// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Values worked out by hand.
#include "tests/oracle/functions.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "tests/support/all_close.hpp"

namespace kvmeter::oracle {
namespace {

using test::AllClose;

TEST_CASE("rms_norm: mean square of (3, 4) is 12.5") {
  const Vector y = rms_norm(Vector{3, 4}, Vector{1, 2}, 0);
  CHECK_THAT(y, AllClose(Vector{3 / std::sqrt(12.5), 8 / std::sqrt(12.5)}, 1e-15));
  // Mean square 12.5 + epsilon 3.5 = 16.
  CHECK_THAT(rms_norm(Vector{3, 4}, Vector{1, 2}, 3.5), AllClose(Vector{0.75, 2}, 1e-15));
}

TEST_CASE("layer_norm: (1, 5) has mean 3 and variance 4") {
  const Vector y = layer_norm(Vector{1, 5}, Vector{1, 10}, Vector{0.5, -1}, 0);
  CHECK_THAT(y, AllClose(Vector{-0.5, 9}, 1e-15));
  // Variance 4 + epsilon 12 = 16.
  CHECK_THAT(layer_norm(Vector{1, 5}, Vector{1, 1}, Vector{0, 0}, 12),
             AllClose(Vector{-0.5, 0.5}, 1e-15));
}

TEST_CASE("linear: rows of the weight are outputs") {
  const Matrix weight(3, 2, {1, 2, 3, 4, 5, 6});
  CHECK(linear(weight, Vector{10, 1}, {}) == Vector{12, 34, 56});
  CHECK(linear(weight, Vector{10, 1}, Vector{0.5, 0, -6}) == Vector{12.5, 34, 50});
  CHECK_THROWS(linear(weight, Vector{1, 2, 3}, {}));
  CHECK_THROWS(linear(weight, Vector{1, 2}, Vector{1}));
}

TEST_CASE("softmax: ln 1, ln 3, ln 4 give eighths, whatever is added to all") {
  const Vector eighths{1.0 / 8, 3.0 / 8, 4.0 / 8};
  for (const double shift : {0.0, 700.0, -700.0, 460800.0}) {
    const Vector x{shift, std::log(3.0) + shift, std::log(4.0) + shift};
    CHECK_THAT(softmax(x), AllClose(eighths, 1e-10));
  }
  CHECK(softmax(Vector{}).empty());
  CHECK(softmax(Vector{5}) == Vector{1});
}

TEST_CASE("silu and gelu_new at values known elsewhere") {
  CHECK(silu(0) == 0);
  // x = ln 3: 1 + exp(-x) = 4/3.
  CHECK(std::abs(silu(std::log(3.0)) - 0.75 * std::log(3.0)) < 1e-15);
  CHECK(std::abs(silu(-800)) < 1e-300);
  CHECK(gelu_new(0) == 0);
  // tanh(0.7978845608 * 1.044715) = 0.6823839, from the table of tanh.
  CHECK(std::abs(gelu_new(1) - 0.8411920) < 1e-6);
  CHECK(std::abs(gelu_new(-1) + 0.1588080) < 1e-6);
  CHECK(std::abs(gelu_new(30) - 30) < 1e-12);
}

TEST_CASE("argmax takes the first of equals") {
  CHECK(argmax(Vector{1, 7, 7, -9}) == 1);
  CHECK(argmax(Vector{-1}) == 0);
}

TEST_CASE("negative_log_likelihood of probability 3/8") {
  const Vector x{10, std::log(3.0) + 10, std::log(4.0) + 10};
  CHECK(std::abs(negative_log_likelihood(x, 1) - std::log(8.0 / 3)) < 1e-14);
}

}  // namespace
}  // namespace kvmeter::oracle

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Scores are chosen as logarithms of whole numbers, so that weights are simple fractions.
#include "tests/oracle/attend.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "tests/support/all_close.hpp"

namespace kvmeter::oracle {
namespace {

using test::AllClose;
const double ln3 = std::log(3.0);

TEST_CASE("attend: two tokens, head_dim 4") {
  // Scores are q . k / 2. Token 0 sees itself alone; token 1 scores 0 and ln 3: weights 1/4, 3/4.
  const Matrix q(2, 4, {9, 9, 9, 9, 2 * ln3, 0, 0, 0});
  const Matrix k(2, 4, {0, 5, 5, 5, 1, 5, 5, 5});
  const Matrix v(2, 4, {4, 0, 1, 8, 8, 4, 1, 0});
  const Matrix out = attend(q, k, v, {.head_dim = 4});
  CHECK_THAT(out.data, AllClose(Vector{4, 0, 1, 8, 7, 3, 1, 2}, 1e-14));
}

TEST_CASE("attend: query heads are grouped 0 0 1 1, not tiled 0 1 0 1") {
  const Matrix q(1, 4, {1, 1, 1, 1});
  const Matrix k(1, 2, {1, 1});
  const Matrix v(1, 2, {10, 20});
  const Matrix out = attend(q, k, v, {.n_heads = 4, .n_kv_heads = 2});
  CHECK(out.data == Vector{10, 10, 20, 20});
}

TEST_CASE("attend: a window of 2 sees the token itself and the one before") {
  const Matrix q(4, 1, {0, 0, 0, 0});  // all scores 0: plain means
  const Matrix k(4, 1, {1, 2, 3, 4});
  const Matrix v(4, 1, {10, 20, 40, 80});
  CHECK_THAT(attend(q, k, v, {.window = 2}).data, AllClose(Vector{10, 15, 30, 60}, 1e-13));
  CHECK_THAT(attend(q, k, v, {.window = 1}).data, AllClose(Vector{10, 20, 40, 80}, 1e-13));
  CHECK_THAT(attend(q, k, v, {.window = 4}).data, AllClose(Vector{10, 15, 70.0 / 3, 37.5}, 1e-13));
  CHECK_THAT(attend(q, k, v, {}).data, AllClose(Vector{10, 15, 70.0 / 3, 37.5}, 1e-13));
}

TEST_CASE("attend: a decode step is the last row of a prefill") {
  const Matrix q(1, 1, {0});
  const Matrix k(4, 1, {1, 2, 3, 4});
  const Matrix v(4, 1, {10, 20, 40, 80});
  CHECK_THAT(attend(q, k, v, {.first_position = 3}).data, AllClose(Vector{37.5}, 1e-13));
  CHECK_THAT(attend(q, k, v, {.first_position = 2}).data, AllClose(Vector{70.0 / 3}, 1e-13));
  CHECK_THAT(attend(q, k, v, {.first_position = 3, .window = 2}).data, AllClose(Vector{60}, 1e-13));
}

TEST_CASE("attend: a query that sees no key gives exact zeros") {
  const Matrix q(1, 2, {1, 2});
  CHECK(attend(q, Matrix(0, 2), Matrix(0, 2), {.head_dim = 2}).data == Vector{0, 0});
  const Matrix one(1, 2, {1, 1});
  CHECK(attend(q, one, one, {.head_dim = 2, .first_position = 5, .window = 3}).data ==
        Vector{0, 0});
}

TEST_CASE("attend: scores of 460,800 do not overflow") {
  const Matrix q(1, 1, {960});
  const Matrix k(3, 1, {480, 480, -480});
  const Matrix v(3, 1, {1, 3, 1000});
  CHECK(attend(q, k, v, {.first_position = 2}).data == Vector{2});
}

TEST_CASE("attend: shapes that do not fit are refused") {
  const Matrix x(1, 6);
  CHECK_THROWS(attend(x, x, x, {.n_heads = 3, .n_kv_heads = 2, .head_dim = 2}));
  CHECK_THROWS(attend(x, x, Matrix(2, 6), {.n_heads = 3, .n_kv_heads = 3, .head_dim = 2}));
}

}  // namespace
}  // namespace kvmeter::oracle

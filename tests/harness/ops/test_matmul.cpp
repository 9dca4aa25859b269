// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Linear layers against plain double loops, over sizes at and between the blocks of the kernels.
#include "harness/ops/matmul.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>

#include "harness/ops/many_rows_host.hpp"
#include "tests/support/all_close.hpp"
#include "tests/support/random.hpp"
#include "tests/support/weight_matrices.hpp"

namespace kvmeter::test {
namespace {

constexpr double u = 0x1p-24;

struct Sizes {
  std::int64_t n_rows, in_dim, out_dim;
};
struct Extras {
  bool bias, accumulate;
};

/// Values and bounds. A sum of in_dim products, a bias and what was there, in any order in float,
/// is off by at most (in_dim + 2) u times the sum of the magnitudes, and 1 % covers higher orders.
struct Expected {
  std::vector<double> values, bounds;
};
Expected expect(const oracle::Matrix& x, const oracle::Matrix& w, const std::vector<float>& bias,
                const std::vector<float>& before) {
  Expected expected;
  for (std::int64_t r = 0; r < x.rows; ++r)
    for (std::int64_t o = 0; o < w.rows; ++o) {
      const std::size_t at = expected.values.size();
      const double start = before.empty() ? 0.0 : before[at];
      const double shift = bias.empty() ? 0.0 : bias[static_cast<std::size_t>(o)];
      double sum = start + shift;
      double magnitude = std::abs(start) + std::abs(shift);
      const double* const x_row = x.row(r).data();
      const double* const w_row = w.row(o).data();
      for (std::int64_t i = 0; i < x.cols; ++i) {
        const double product = x_row[i] * w_row[i];
        sum += product;
        magnitude += std::abs(product);
      }
      expected.values.push_back(sum);
      expected.bounds.push_back(1.01 * static_cast<double>(x.cols + 2) * u * magnitude);
    }
  return expected;
}

template <class Exec>
void check(Random& random, Element element, const Sizes& n, const Extras& extras) {
  const Exec exec;
  CAPTURE(name_of(element), n.n_rows, n.in_dim, n.out_dim, extras.bias, extras.accumulate);
  const auto [w, w_held] =
      make_weights(exec, element, n.out_dim, n.in_dim, random.normal(n.out_dim * n.in_dim));
  const auto x = random.normal(n.n_rows * n.in_dim);
  const auto bias = extras.bias ? random.normal(n.out_dim) : std::vector<float>{};
  const auto before =
      extras.accumulate ? random.normal(n.n_rows * n.out_dim) : std::vector<float>{};
  const std::vector<float> nan(static_cast<std::size_t>(n.n_rows * n.out_dim), std::nanf(""));
  const auto out = to_device(exec, extras.accumulate ? before : nan, n.n_rows);

  const bool rounds = ops::can_round(n.in_dim);
  ops::Matmul<Exec> matmul(exec, {n.n_rows, n.in_dim, element, rounds});
  matmul(exec, {to_device(exec, x, n.n_rows), w, to_device(exec, bias), out, extras.accumulate});

  oracle::Matrix x_used(n.n_rows, n.in_dim, {x.begin(), x.end()});
  if (rounds && ops::Matmul<Exec>::rounds_activations(n.n_rows, element))
    for (double& value : x_used.data) value = round_to_element(element, value);
  const Expected expected = expect(x_used, w_held, bias, before);
  CHECK_THAT(to_host(exec, out), AllClose(expected.values, expected.bounds, {n.n_rows, n.out_dim}));
}

TEMPLATE_LIST_TEST_CASE("Linear layers of few and many rows, odd sizes included", "[matmul]",
                        TestExecs) {
  const auto element = GENERATE(Element::f32, Element::f16, Element::bf16);
  Random random("matmul");
  for (const std::int64_t n_rows : {1, 2, 3, 4, 5, 7, 15, 16, 17, 18, 33, 64})
    for (const auto& [in_dim, out_dim] : {std::pair<std::int64_t, std::int64_t>{1, 1},
                                          {8, 3},
                                          {15, 4},
                                          {16, 5},
                                          {17, 16},
                                          {40, 17},
                                          {63, 33},
                                          {64, 64},
                                          {100, 130},
                                          {131, 66}})
      check<TestType>(random, element, {n_rows, in_dim, out_dim},
                      {random.between(0, 1) == 1, random.between(0, 1) == 1});
}

TEMPLATE_LIST_TEST_CASE("Linear layers with and without bias, written and added to", "[matmul]",
                        TestExecs) {
  const auto element = GENERATE(Element::f32, Element::f16, Element::bf16);
  const bool bias = GENERATE(false, true);
  const bool accumulate = GENERATE(false, true);
  Random random("matmul extras");
  for (const std::int64_t n_rows : {1, 6, 16, 17, 40})
    check<TestType>(random, element, {n_rows, 48, 29}, {bias, accumulate});
}

TEMPLATE_LIST_TEST_CASE("Linear layers of more outputs than a panel of weights", "[matmul]",
                        TestExecs) {
  // 16-bit weights may be unpacked a panel of rows at a time.
  const auto element = GENERATE(Element::f16, Element::bf16);
  const std::int64_t in_dim = 4096;
  Random random("matmul panels");
  check<TestType>(random, element, {17, in_dim, ops::panel_rows(in_dim) + 3}, {true, false});
}

TEMPLATE_LIST_TEST_CASE("One Matmul serves all sizes within its limits, in any order", "[matmul]",
                        TestExecs) {
  const TestType exec;
  const auto element = GENERATE(Element::f32, Element::f16, Element::bf16);
  ops::Matmul<TestType> matmul(exec, {40, 100, element});
  Random random("matmul order");
  for (const Sizes& n :
       {Sizes{40, 100, 30}, {1, 20, 70}, {25, 34, 12}, {40, 100, 30}, {17, 6, 90}}) {
    CAPTURE(n.n_rows, n.in_dim, n.out_dim);
    const auto values = random.normal(n.out_dim * n.in_dim);
    const auto x = random.normal(n.n_rows * n.in_dim);
    const auto w = make_weights(exec, element, n.out_dim, n.in_dim, values).first;
    const auto run = [&](ops::Matmul<TestType>& with) {
      const std::vector<float> zeros(static_cast<std::size_t>(n.n_rows * n.out_dim));
      const auto out = to_device(exec, zeros, n.n_rows);
      with(exec, {to_device(exec, x, n.n_rows), w, {}, out, false});
      return to_host(exec, out);
    };
    ops::Matmul<TestType> fresh(exec, {n.n_rows, n.in_dim, element});
    CHECK(run(matmul) == run(fresh));
  }
}

TEST_CASE("linear_cost counts weights once, activations and outputs in f32", "[matmul]") {
  const Cost cost = ops::linear_cost(3, 10, 7, Element::bf16);
  CHECK(cost.bytes_read == 10 * 7 * 2 + 3 * 10 * 4);
  CHECK(cost.bytes_written == 3 * 7 * 4);
  CHECK(cost.flops == 2 * 3 * 10 * 7);
}

}  // namespace
}  // namespace kvmeter::test

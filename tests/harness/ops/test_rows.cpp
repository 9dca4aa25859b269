// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Norms, activations, embedding and gather against the oracle. u is float's unit roundoff.
#include "harness/ops/rows.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>

#include "tests/oracle/functions.hpp"
#include "tests/support/all_close.hpp"
#include "tests/support/random.hpp"
#include "tests/support/weight_matrices.hpp"

namespace kvmeter::test {
namespace {

using oracle::Matrix;
using oracle::Vector;
constexpr double u = 0x1p-24;

Vector doubles(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

template <class Exec>
auto empty_rows(const Exec& exec, std::int64_t n_rows, std::int64_t columns) {
  const std::vector<float> nan(static_cast<std::size_t>(n_rows * columns), std::nanf(""));
  return to_device(exec, nan, n_rows);
}

double mean_of(std::span<const double> x) {
  double sum = 0;
  for (const double value : x) sum += value;
  return sum / static_cast<double>(x.size());
}

/// (x - mean) * factor * scale + shift with mean and factor rounded to float: 4 roundings of the
/// product, one of the mean, one of the sum.
Vector norm_bound(std::span<const double> x, const Vector& scale, double epsilon, bool is_layer,
                  const Vector& y) {
  const double mean = is_layer ? mean_of(x) : 0;
  double square = 0;
  for (const double value : x) square += (value - mean) * (value - mean);
  const double root = std::sqrt(square / static_cast<double>(x.size()) + epsilon);
  Vector bound(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    bound[i] =
        1.01 * u *
        (std::abs(scale[i]) / root * (4 * std::abs(x[i] - mean) + std::abs(mean)) + std::abs(y[i]));
  return bound;
}

TEMPLATE_LIST_TEST_CASE("normalize is rms norm or layer norm", "", TestExecs) {
  const TestType exec;
  const auto kind = GENERATE(ops::NormKind::rms, ops::NormKind::layer);
  const std::int64_t columns = GENERATE(1, 2, 15, 16, 17, 96, 576, 1000);
  const double size = GENERATE(1.0, 1e-4, 1e4);
  const bool is_layer = kind == ops::NormKind::layer;
  CAPTURE(is_layer, columns, size);
  Random random("norm");
  const double epsilon = 1e-5;
  auto values = random.normal(3 * columns, size);
  for (float& value : values) value += static_cast<float>(3 * size);  // a mean to take away
  const auto scale = random.normal(columns);
  const auto shift = is_layer ? random.normal(columns) : std::vector<float>{};
  const auto out = empty_rows(exec, 3, columns);
  ops::normalize(exec, kind, epsilon, to_device(exec, values, 3), to_device(exec, scale),
                 to_device(exec, shift), out);

  const Matrix x(3, columns, doubles(values));
  Vector expected;
  Vector bounds;
  for (std::int64_t r = 0; r < 3; ++r) {
    const Vector y = is_layer
                         ? oracle::layer_norm(x.row(r), doubles(scale), doubles(shift), epsilon)
                         : oracle::rms_norm(x.row(r), doubles(scale), epsilon);
    const Vector bound = norm_bound(x.row(r), doubles(scale), epsilon, is_layer, y);
    expected.insert(expected.end(), y.begin(), y.end());
    bounds.insert(bounds.end(), bound.begin(), bound.end());
  }
  CHECK_THAT(to_host(exec, out), AllClose(expected, bounds, {3, columns}));
}

TEMPLATE_LIST_TEST_CASE("normalize may write over its input", "", TestExecs) {
  const TestType exec;
  Random random("norm in place");
  const auto values = random.normal(4 * 40);
  const auto scale = to_device(exec, random.normal(40));
  const auto in_place = to_device(exec, values, 4);
  const auto apart = empty_rows(exec, 4, 40);
  const decltype(scale) none;
  ops::normalize(exec, ops::NormKind::rms, 1e-6, to_device(exec, values, 4), scale, none, apart);
  ops::normalize(exec, ops::NormKind::rms, 1e-6, in_place, scale, none, in_place);
  CHECK(to_host(exec, in_place) == to_host(exec, apart));
}

/// Values around 0, large ones of both signs, and those where exp leaves the range of float.
std::vector<float> activation_inputs(Random& random, std::int64_t n) {
  auto values = random.normal(n, 3);
  const std::vector<float> special{0, -0.0F, 20, -20, 86, -86, 88, -88, 100, -100, 1e4F, -1e4F};
  for (std::size_t i = 0; i < std::min(special.size(), values.size()); ++i) values[i] = special[i];
  return values;
}

TEMPLATE_LIST_TEST_CASE("swiglu multiplies the second half by silu of the first", "", TestExecs) {
  // exp is within 4 u, then a sum, a division, two products: 8 u. Below -87 silu may be cut off:
  // |x| exp(-87) < 2e-38 |x|.
  const TestType exec;
  const std::int64_t ffn_dim = GENERATE(1, 15, 16, 17, 31, 48, 100);
  CAPTURE(ffn_dim);
  Random random("swiglu");
  auto values = activation_inputs(random, 5 * 2 * ffn_dim);
  const auto out = empty_rows(exec, 5, ffn_dim);
  ops::swiglu(exec, to_device(exec, values, 5), out);
  const Matrix up(5, 2 * ffn_dim, doubles(values));
  Vector expected;
  Vector bounds;
  for (std::int64_t r = 0; r < 5; ++r)
    for (std::int64_t i = 0; i < ffn_dim; ++i) {
      const double linear = up(r, ffn_dim + i);
      expected.push_back(oracle::silu(up(r, i)) * linear);
      bounds.push_back(8 * u * std::abs(expected.back()) + 2e-38 * std::abs(up(r, i) * linear));
    }
  CHECK_THAT(to_host(exec, out), AllClose(expected, bounds, {5, ffn_dim}));
}

TEMPLATE_LIST_TEST_CASE("gelu_tanh is the gelu of GPT-2", "", TestExecs) {
  // tanh's argument carries at most 6 roundings, which move tanh by at most 6 u max |y sech^2 y| <
  // 2.7 u; tanh itself 2 u, 1 + tanh one more; times |x| / 2, and two more of the product.
  const TestType exec;
  Random random("gelu");
  const auto values = activation_inputs(random, 3 * 67);
  const auto out = empty_rows(exec, 3, 67);
  ops::gelu_tanh(exec, to_device(exec, values, 3), out);
  Vector expected;
  Vector bounds;
  for (const double x : doubles(values)) {
    expected.push_back(oracle::gelu_new(x));
    bounds.push_back(u * (3 * std::abs(x) + 2 * std::abs(expected.back())));
  }
  CHECK_THAT(to_host(exec, out), AllClose(expected, bounds, {3, 67}));
}

TEMPLATE_LIST_TEST_CASE("embed takes rows of the table, and adds those of positions", "",
                        TestExecs) {
  const TestType exec;
  const auto element = GENERATE(Element::f32, Element::f16, Element::bf16);
  const bool learned = GENERATE(false, true);
  CAPTURE(name_of(element), learned);
  Random random("embed");
  const auto [table, held] = make_weights(exec, element, 11, 19, random.normal(11 * 19));
  auto [positions, positions_held] = make_weights(exec, element, 7, 19, random.normal(7 * 19));
  if (!learned) positions = {};
  const std::vector<std::int32_t> tokens{10, 0, 3, 3};
  const std::vector<std::int32_t> at{6, 0, 1, 2};
  const auto x = empty_rows(exec, 4, 19);
  ops::embed<TestType>(exec, to_device(exec, tokens), to_device(exec, at), table, positions, x);
  Vector expected;
  for (std::size_t r = 0; r < tokens.size(); ++r)
    for (std::int64_t c = 0; c < 19; ++c)
      // The sum of two floats, rounded once, is what it has to be.
      expected.push_back(
          oracle::round_f32(held(tokens[r], c) + (learned ? positions_held(at[r], c) : 0.0)));
  CHECK_THAT(to_host(exec, x), AllClose(expected, 0, {4, 19}));
}

TEMPLATE_LIST_TEST_CASE("gather copies rows", "", TestExecs) {
  const TestType exec;
  Random random("gather");
  const auto values = random.normal(5 * 33);
  const std::vector<std::int32_t> rows{4, 0, 4};
  const auto out = empty_rows(exec, 3, 33);
  ops::gather<TestType>(exec, to_device(exec, values, 5), to_device(exec, rows), out);
  std::vector<float> expected;
  for (const auto r : rows)
    expected.insert(expected.end(), values.begin() + r * 33, values.begin() + (r + 1) * 33);
  CHECK(to_host(exec, out) == expected);
}

}  // namespace
}  // namespace kvmeter::test

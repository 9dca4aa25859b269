// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Likelihoods and divergences of rows of logits beside the same in long double, written plainly.
#include "harness/ops/compare_logits.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <limits>

#include "harness/exec/ledger.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/random.hpp"

namespace kvmeter::test {
namespace {

using Logits = std::vector<float>;
using Ids = std::vector<std::int32_t>;
using ops::RowComparison;
constexpr double u = 0x1p-53;
constexpr float inf = std::numeric_limits<float>::infinity();

template <class Exec>
std::vector<RowComparison> compare(const Logits& reference, const Logits& other, const Ids& next) {
  const Exec exec;
  const auto n = std::ssize(next);
  const auto p = to_device(exec, reference, n);
  const auto q = to_device(exec, other, n);
  const auto ids = to_device(exec, next);
  const auto out =
      allocate<Array1<RowComparison, typename Exec::memory_space>>(exec, "kvmeter::test::rows", n);
  ops::compare_logits<Exec>(exec, {p, q, ids, out});
  return to_host(exec, out);
}

using Logs = std::vector<long double>;

/// log softmax
Logs log_probabilities(const Logits& row) {
  long double top = -inf;
  for (const float x : row) top = std::max<long double>(top, x);
  long double sum = 0;
  for (const float x : row) sum += std::exp(x - top);
  Logs logs;
  for (const float x : row) logs.push_back(x - top - std::log(sum));
  return logs;
}

struct Plain {
  long double kl = 0;
  long double size = 0;  // sum of p |log p - log q|: what rounding is relative to
};

Plain plain_divergence(const Logs& p, const Logs& q) {
  Plain plain;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (std::exp(p[i]) == 0) continue;
    plain.kl += std::exp(p[i]) * (p[i] - q[i]);
    plain.size += std::exp(p[i]) * std::abs(p[i] - q[i]);
  }
  return plain;
}

Logits row_of(const Logits& rows, std::size_t row, std::size_t vocab) {
  const auto first = rows.begin() + static_cast<std::ptrdiff_t>(row * vocab);
  return {first, first + static_cast<std::ptrdiff_t>(vocab)};
}

std::ptrdiff_t first_top(const Logits& row) {
  return std::max_element(row.begin(), row.end()) - row.begin();
}

TEMPLATE_LIST_TEST_CASE("compare_logits gives likelihoods, divergence and choice of every row", "",
                        TestExecs) {
  const std::int64_t vocab = GENERATE(1, 2, 17, 300, 49155);
  const double size = GENERATE(1e-3, 1.0, 30.0, 1e4);
  const double distance = GENERATE(1e-4, 0.1, 1.0);
  CAPTURE(vocab, size, distance);
  Random random("compare_logits");
  const std::int64_t n = 5;
  const Logits reference = random.normal(n * vocab, size);
  Logits other = random.normal(n * vocab, size * distance);
  for (std::size_t i = 0; i < other.size(); ++i) other[i] += reference[i];
  Ids next;
  for (const auto id : random.ids(n, vocab)) next.push_back(static_cast<std::int32_t>(id));
  const auto rows = compare<TestType>(reference, other, next);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Logits p_row = row_of(reference, r, static_cast<std::size_t>(vocab));
    const Logits q_row = row_of(other, r, static_cast<std::size_t>(vocab));
    const Logs p = log_probabilities(p_row);
    const Logs q = log_probabilities(q_row);
    const Plain plain = plain_divergence(p, q);
    // Each sum of `vocab` terms is off by that many roundings of its size, and by exp's own.
    const auto sums = static_cast<double>(vocab + 8) * u;
    const auto id = static_cast<std::size_t>(next[r]);
    CAPTURE(r);
    CHECK(std::abs(rows[r].nll_reference + p[id]) <= sums + 4 * u * std::abs(p[id]));
    CHECK(std::abs(rows[r].nll + q[id]) <= sums + 4 * u * std::abs(q[id]));
    const double shift = std::abs(double{p_row[0]} - q_row[0] - static_cast<double>(p[0] - q[0]));
    CHECK(std::abs(rows[r].kl - plain.kl) <=
          4 * sums * (1 + shift + static_cast<double>(plain.size)));
    CHECK(rows[r].kl >= 0);
    CHECK(rows[r].same_top == (first_top(p_row) == first_top(q_row) ? 1 : 0));
  }
}

TEMPLATE_LIST_TEST_CASE("Equal rows have a divergence of exactly 0", "", TestExecs) {
  const double size = GENERATE(1.0, 1e4);
  Random random("equal rows");
  const Logits logits = random.normal(3 * std::int64_t{1001}, size);
  for (const RowComparison& row : compare<TestType>(logits, logits, {0, 500, 1000})) {
    CHECK(row.kl == 0);
    CHECK(row.same_top == 1);
    CHECK(row.nll == row.nll_reference);
  }
}

TEMPLATE_LIST_TEST_CASE("Rows a last bit apart never diverge by less than 0", "", TestExecs) {
  Random random("last bits");
  const std::int64_t n = 200;
  const std::int64_t vocab = 50;
  const Logits reference = random.normal(n * vocab, 10);
  Logits other = reference;
  for (float& x : other)
    if (random.between(0, 1) == 1) x = std::nextafter(x, inf);
  for (const RowComparison& row : compare<TestType>(reference, other, Ids(n, 7))) {
    CHECK(row.kl >= 0);
    CHECK(row.kl <= 1e-11);  // (10 x 2^-23)^2, and 50 roundings of double
  }
}

TEMPLATE_LIST_TEST_CASE("A NaN stays visible, in its row alone", "", TestExecs) {
  Random random("NaN");
  const std::int64_t vocab = 77;
  const bool in_reference = GENERATE(true, false);
  const std::size_t where = GENERATE(0U, 40U, 76U);
  Logits reference = random.normal(3 * vocab);
  Logits other = reference;
  (in_reference ? reference : other)[static_cast<std::size_t>(vocab) + where] = std::nanf("");
  const auto rows = compare<TestType>(reference, other, {1, 2, 3});
  CHECK(std::isnan(rows[1].kl));
  CHECK(std::isnan(rows[1].same_top));
  CHECK(std::isnan(in_reference ? rows[1].nll_reference : rows[1].nll));
  CHECK(std::isfinite(in_reference ? rows[1].nll : rows[1].nll_reference));
  for (const std::size_t sound : {0U, 2U}) CHECK(rows[sound].kl == 0);
}

TEMPLATE_LIST_TEST_CASE("Ids that cannot come add nothing; ids that must not come add all", "",
                        TestExecs) {
  const auto one = [](const Logits& p, const Logits& q) { return compare<TestType>(p, q, {0})[0]; };
  const double log2 = std::log(2.0);
  CHECK(one({0, 0, -inf}, {0, 0, -inf}).kl == 0);
  CHECK(std::abs(one({0, -inf, -inf}, {0, 0, -inf}).kl - log2) < 1e-15);
  CHECK(one({0, 0, -inf}, {0, -inf, -inf}).kl == std::numeric_limits<double>::infinity());
  CHECK(one({0, -2000, 0}, {0, -inf, 0}).kl == 0);  // exp(-2000) is 0
}

TEMPLATE_LIST_TEST_CASE("compare_logits allocates nothing", "", TestExecs) {
  ledger();
  const TestType exec;
  const auto logits = to_device(exec, Logits(300, 1), 3);
  const auto next = to_device(exec, Ids{0, 1, 2});
  const auto out = allocate<Array1<RowComparison, typename TestType::memory_space>>(
      exec, "kvmeter::test::rows", 3);
  ops::compare_logits<TestType>(exec, {logits, logits, next, out});  // Kokkos' scratch is there
  const Audit audit;
  ops::compare_logits<TestType>(exec, {logits, logits, next, out});
  exec.fence("kvmeter::test: the audit ends");
  CHECK(AuditCounts::total(audit.counts().allocations) == 0);
}

}  // namespace
}  // namespace kvmeter::test

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/laws/factors.hpp"

#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "harness/run/laws/resident.hpp"
#include "tests/harness/run/laws/lawful_record.hpp"

namespace kvmeter::laws {
namespace {

using Catch::Approx;
using test::lawful_record;
using test::made_up_point;
using test::Shape;

CacheFacts facts_of(const Point& point, const Shape& shape = {}) {
  return cache_facts(lawful_record(point, shape));
}

/// The middle of a star: each factor takes further values by itself.
std::vector<CacheFacts> star(const std::string& cache = "paged") {
  const Point middle = made_up_point(cache, 100, 1);
  std::vector<CacheFacts> points{facts_of(middle)};
  for (const std::int64_t n : {8, 16}) points.push_back(facts_of(middle, {.layers = n}));
  for (const std::int64_t n : {1, 4}) points.push_back(facts_of(middle, {.kv_heads = n}));
  for (const std::int64_t n : {32, 96}) points.push_back(facts_of(middle, {.head_dim = n}));
  for (const std::int64_t n : {17, 333}) points.push_back(facts_of(made_up_point(cache, n, 1)));
  for (const std::int64_t n : {3, 7}) {
    Point point = middle;
    point.batch = n;
    points.push_back(facts_of(point, {.block_rounding = 100 * n}));
  }
  for (const char* element : {"f32", "int8"}) {
    Point point = middle;
    point.k_element = element;
    points.push_back(facts_of(point, {.scale = 1000}));
  }
  return points;
}

const Family& family(const std::vector<Family>& families, std::string_view factor) {
  return *std::ranges::find(families, factor, &Family::factor);
}

TEST_CASE("each factor of a lawful cache has exponent 1 and prefactor 2", "[run]") {
  const std::vector<Family> families = families_of(star());
  REQUIRE(families.size() == factor_names().size());
  for (std::size_t i = 0; i < families.size(); ++i) {
    CAPTURE(families[i].factor);
    CHECK(families[i].factor == factor_names()[i]);
    CHECK(families[i].n_points == 3);
    CHECK(families[i].ledger.exponent == Approx(1).epsilon(1e-12));
    CHECK(families[i].ledger.prefactor == Approx(2).epsilon(1e-12));
    CHECK(families[i].ledger.verdict == Verdict::holds);
    CHECK_FALSE(families[i].resident);
  }
  CHECK(family(families, "tokens").from == 17);
  CHECK(family(families, "tokens").to == 333);
  CHECK(family(families, "element_bytes").from == 1.5);
}

TEST_CASE("placements have families of their own, and no cache has none", "[run]") {
  std::vector<CacheFacts> points = star("paged");
  const std::vector<CacheFacts> more = star("contiguous"), none = star("none");
  points.insert(points.end(), more.begin(), more.end());
  points.insert(points.end(), none.begin(), none.end());
  const std::vector<Family> families = families_of(points);
  CHECK(families.size() == 2 * factor_names().size());
  CHECK(families[0].placement != families[1].placement);
}

TEST_CASE("points that differ in two factors are no family", "[run]") {
  Point other = made_up_point("paged", 200, 1);
  other.batch = 2;
  const std::vector<CacheFacts> points{facts_of(made_up_point("paged", 100, 1)), facts_of(other)};
  CHECK(families_of(points).empty());
  CHECK(families_of({}).empty());
}

TEST_CASE("a cache that grows faster than its tokens breaks the law of proportion", "[run]") {
  std::vector<CacheFacts> points = star();
  for (CacheFacts& facts : points)
    if (facts.tokens_per_sequence() == 333) facts.ledger += facts.formula / 100;
  const std::vector<Family> families = families_of(points);
  CHECK(family(families, "tokens").ledger.verdict == Verdict::fails);
  CHECK(family(families, "tokens").ledger.exponent > 1.0005);
  CHECK(family(families, "tokens").ledger.prefactor == Approx(2.02));
  CHECK(family(families, "layers").ledger.verdict == Verdict::holds);
}

TEST_CASE("a cache that is twice too large has the right exponents and fails", "[run]") {
  std::vector<CacheFacts> points = star();
  for (CacheFacts& facts : points) facts.ledger += facts.formula;
  for (const Family& one : families_of(points)) {
    CHECK(one.ledger.exponent == Approx(1).epsilon(1e-12));
    CHECK(one.ledger.prefactor == Approx(4));
    CHECK(one.ledger.verdict == Verdict::fails);
  }
}

TEST_CASE("resident memory is fitted where all caches of a family are large", "[run]") {
  const Shape large{.layers = 32, .kv_heads = 8, .head_dim = 128};  // 128 KiB a token
  const auto points = [&](std::int64_t first) {
    return std::vector{facts_of(made_up_point("paged", first, 1), large),
                       facts_of(made_up_point("paged", 2 * first, 1), large)};
  };
  CHECK_FALSE(families_of(points(100)).at(0).resident);
  CHECK(families_of(points(1000)).at(0).resident.value().verdict == Verdict::none);
  CHECK(families_of(points(3000)).at(0).resident.value().verdict == Verdict::holds);
  std::vector<CacheFacts> fat = points(3000);
  *fat[1].resident += fat[1].ledger / 20;
  CHECK(families_of(fat).at(0).resident.value().verdict == Verdict::fails);
  CHECK(families_of(fat).at(0).ledger.verdict == Verdict::holds);
}

TEST_CASE("resident memory is a law for large caches only", "[run]") {
  const Shape large{.layers = 32, .kv_heads = 8, .head_dim = 128};
  const auto resident = [&](std::int64_t tokens, double ratio, const std::string& cache = "paged") {
    CacheFacts facts = facts_of(made_up_point(cache, tokens, 1), large);
    facts.resident = static_cast<std::int64_t>(ratio * static_cast<double>(facts.ledger));
    return resident_memory(facts);
  };
  CHECK_FALSE(resident(511, 1));
  CHECK(resident(600, 0.5).value().verdict == Verdict::none);
  CHECK(resident(2049, 0.991).value().verdict == Verdict::holds);
  CHECK(resident(2049, 1.009).value().verdict == Verdict::holds);
  CHECK(resident(2049, 1.011).value().verdict == Verdict::fails);
  CHECK(resident(2049, 0).value().verdict == Verdict::fails);
  CHECK(resident(2049, 0.5, "virtual").value().verdict == Verdict::none);
  CHECK(resident(2049, 0.5).value().ratio == Approx(0.5));
}

TEST_CASE("the memory of a device is not resident", "[run]") {
  Point point = made_up_point("paged", 4000, 1);
  point.backend = "cuda";
  CHECK_FALSE(resident_memory(facts_of(point, {.layers = 32, .kv_heads = 8, .head_dim = 128})));
}

}  // namespace
}  // namespace kvmeter::laws

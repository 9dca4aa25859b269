// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What a cache says of itself: bytes held and predicted, bytes and operations of a step, counted
// again.
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <set>

#include "harness/exec/ledger.hpp"
#include "tests/contract/cache_driver.hpp"

namespace kvmeter::test {
namespace {

CacheSpec accounts_spec() {
  CacheSpec spec;
  spec.n_layers = 3;
  spec.n_heads = 6;
  spec.n_kv_heads = 2;
  spec.head_dim = 32;
  spec.batch = 3;
  spec.max_tokens = 50;
  spec.windows = {0, 7, 1};
  return spec;
}

std::int64_t token_bytes(const Combination& c, const CacheSpec& spec) {
  return spec.n_kv_heads * (row_bytes(c.k.id, spec.head_dim) + row_bytes(c.v.id, spec.head_dim));
}

std::int64_t token_scale_bytes(const Combination& c, const CacheSpec& spec) {
  return spec.n_kv_heads *
         (row_metadata_bytes(c.k.id, spec.head_dim) + row_metadata_bytes(c.v.id, spec.head_dim));
}

TEST_CASE("Rows of plain elements take what their type takes") {
  CHECK(row_bytes(CodecId::f32, 40) == 160);
  CHECK(row_bytes(CodecId::f16, 40) == 80);
  CHECK(row_bytes(CodecId::bf16, 40) == 80);
  CHECK(row_metadata_bytes(CodecId::f16, 40) == 0);
}

/// Counts by asking of every query and key whether they see each other.
Cost count(const Combination& c, const CacheSpec& spec, const StepPlan& plan) {
  Cost cost;
  for (const std::int64_t window : spec.windows)
    for (const StepSequence& s : plan.sequences) {
      std::set<std::int64_t> keys;
      std::int64_t pairs = 0;
      for (std::int64_t p = s.first_position; p < s.first_position + s.n_tokens; ++p)
        for (std::int64_t key = 0; key <= p; ++key)
          if (oracle::sees(p, key, window)) {
            keys.insert(key);
            ++pairs;
          }
      cost.bytes_read += std::ssize(keys) * token_bytes(c, spec);
      cost.bytes_written += s.n_tokens * token_bytes(c, spec);
      cost.flops += 4 * pairs * spec.n_heads * spec.head_dim;
    }
  return cost;
}

TEMPLATE_LIST_TEST_CASE("Declared bytes and operations are those counted", "", TestExecs) {
  const auto combination = GENERATE(from_range(all_combinations()));
  CAPTURE(combination.name());
  const CacheSpec spec = accounts_spec();
  const auto cache = make_cache<TestType>(TestType(), combination.recipe(), spec);
  StepPlan plan;
  for (const StepSequence& s : {StepSequence{0, 0, 20}, {1, 30, 1}, {2, 3, 9}})
    plan.add(s.slot, s.first_position,
             std::vector<std::int32_t>(static_cast<std::size_t>(s.n_tokens)));
  CHECK(cache->cost(plan) == count(combination, spec, plan));
}

TEMPLATE_LIST_TEST_CASE("The footprint follows the tokens held, and was predicted", "", TestExecs) {
  const auto combination = GENERATE(from_range(all_combinations()));
  CAPTURE(combination.name());
  Random random("footprint");
  const CacheSpec spec = accounts_spec();
  CacheDriver<TestType> driver(combination, spec, 3 * 50);
  for (std::int32_t slot = 0; slot < 3; ++slot)
    driver.set_rows(slot, random_rows(random, spec, 50));
  const auto check_live = [&](std::int64_t tokens) {
    const CacheFootprint held = driver.cache().footprint();
    if (!driver.cache().keeps_past()) tokens = 0;
    const std::int64_t scales = spec.n_layers * tokens * token_scale_bytes(combination, spec);
    CHECK(held.live_bytes == spec.n_layers * tokens * token_bytes(combination, spec));
    CHECK(held.formula_bytes == held.live_bytes - scales);
    CHECK(held.allocated_bytes >= held.live_bytes);
    CHECK(held.reserved_bytes >= held.allocated_bytes);
    CHECK(held.metadata_bytes >= scales);
  };
  check_live(0);
  driver.step({{0, 11}, {2, 4}});
  check_live(15);
  driver.step({{0, 1}, {1, 12}, {2, 8}});
  check_live(36);
  const auto held = driver.cache().footprint();
  const auto predicted = predict_footprint(combination.recipe(), spec, 12);
  CHECK(held.formula_bytes == predicted.formula_bytes);
  CHECK(held.live_bytes == predicted.live_bytes);
  CHECK(held.allocated_bytes == predicted.allocated_bytes);
  CHECK(held.reserved_bytes == predicted.reserved_bytes);
  CHECK(held.metadata_bytes == predicted.metadata_bytes);
  driver.truncate(0, 2);
  check_live(26);
}

TEMPLATE_LIST_TEST_CASE("What Kokkos allocated under the cache's label is what the cache says", "",
                        TestExecs) {
  const auto combination = GENERATE(from_range(all_combinations()));
  CAPTURE(combination.name());
  const std::int64_t before = ledger().live_bytes(cache_area);
  const auto cache = make_cache<TestType>(TestType(), combination.recipe(), accounts_spec());
  const std::int64_t allocated = ledger().live_bytes(cache_area) - before;
  // Nothing is stored yet, so metadata are block tables alone. Kokkos rounds allocations up to 8
  // bytes.
  const CacheFootprint held = cache->footprint();
  CHECK(allocated == held.allocated_bytes + (held.metadata_bytes + 7) / 8 * 8);
}

TEMPLATE_LIST_TEST_CASE("Steps allocate nothing", "", TestExecs) {
  const auto combination = GENERATE(from_range(all_combinations()));
  CAPTURE(combination.name());
  Random random("steps");
  const CacheSpec spec = accounts_spec();
  CacheDriver<TestType> driver(combination, spec, 3 * 50);
  driver.set_rows(0, random_rows(random, spec, 50));
  driver.step({{0, 20}});
  const Audit audit;
  driver.step({{0, 1}});
  const auto counts = audit.counts();
  for (const auto& [label, n] : counts.allocations) {
    CAPTURE(label, n);
    CHECK(label.starts_with("kvmeter::test::"));
  }
  for (const auto& [label, n] : counts.kernels) {
    CAPTURE(label, n);
    CHECK(label.starts_with("kvmeter::"));
  }
}

}  // namespace
}  // namespace kvmeter::test

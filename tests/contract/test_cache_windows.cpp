// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Sliding windows where the cache keeps no more than they need, and sinks before them.
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "tests/contract/cache_driver.hpp"

namespace kvmeter::test {
namespace {

CacheSpec window_spec(std::int64_t window, std::int64_t step, std::int64_t sinks) {
  return {.n_layers = 2,
          .n_heads = 4,
          .n_kv_heads = 2,
          .head_dim = 16,
          .batch = 2,
          .max_tokens = 400,
          .max_step_tokens = step,
          .windows = {window, window},
          .sink_tokens = sinks,
          .block_tokens = 8};
}

std::vector<Combination> rings() {
  std::vector<Combination> all;
  for (const Combination& c : all_combinations())
    if (c.placement.id == PlacementId::Ring && c.k.id == c.v.id) all.push_back(c);
  return all;
}

/// Every length around those at which a ring of W rows and a step wraps, by single steps and by the
/// longest.
TEMPLATE_LIST_TEST_CASE("A ring is right at, before and after every wrap", "", TestExecs) {
  const auto combination = GENERATE(from_range(rings()));
  const std::int64_t window = GENERATE(1, 5, 33);
  const std::int64_t step = GENERATE(1, 4);
  const std::int64_t sinks = GENERATE(0, 3, 70);
  CAPTURE(combination.name(), window, step, sinks);
  Random random("wrap");
  const CacheSpec spec = window_spec(window, step, sinks);
  CacheDriver<TestType> driver(combination, spec, 2 * step);
  for (std::int32_t slot = 0; slot < 2; ++slot)
    driver.set_rows(slot, random_rows(random, spec, 130));
  driver.step({{0, window}, {1, 1}});
  for (std::int64_t n = 0; n < 3; ++n) driver.checked_step({{0, 1}, {1, 1}});
  while (driver.stored(0) < 120) driver.checked_step({{0, step}, {1, 1}});
}

TEMPLATE_LIST_TEST_CASE("A prompt longer than the window, then single steps", "", TestExecs) {
  const auto combination = GENERATE(from_range(rings()));
  CAPTURE(combination.name());
  Random random("long prompt");
  const CacheSpec spec = window_spec(16, 16, 0);
  CacheDriver<TestType> driver(combination, spec, 2 * 16);
  driver.set_rows(0, random_rows(random, spec, 200));
  driver.checked_step({{0, 183}});
  for (int i = 0; i < 5; ++i) driver.checked_step({{0, 1}});
  const CacheFootprint held = driver.cache().footprint();
  CHECK(held.tokens == 2 * 16);
  CHECK(held.reserved_bytes == held.live_bytes() / 16 * (2 * (16 + 16 - 1)));  // batch 2
}

TEMPLATE_LIST_TEST_CASE("A query that sees no key gives exact zeros", "", TestExecs) {
  const auto& attention = GENERATE(from_range(attentions));
  const std::int32_t n_rows = GENERATE(1, 40);  // few and many
  CAPTURE(attention.name, n_rows);
  const TestType exec;
  CacheSpec spec = window_spec(0, 0, 0);
  const CacheRecipe recipe{PlacementId::Contiguous, CodecId::f32, CodecId::f32, attention.id};
  const auto cache = make_cache<TestType>(exec, recipe, spec);
  // Positions before the sequence's beginning: no key is at or before them.
  StepPlan plan;
  plan.sequences = {{0, -n_rows, n_rows}};
  PlanBuffer<TestType> buffer(exec, n_rows, 1, cache->tile_queries());
  const auto device_plan = buffer.upload(exec, plan);
  const auto q =
      to_device(exec, std::vector<float>(static_cast<std::size_t>(n_rows) * 64, 1), n_rows);
  const auto out = to_device(exec, std::vector<float>(q.size(), 7), n_rows);
  const ProjectedRows<typename TestType::memory_space> rows =
      Kokkos::subview(q, Kokkos::ALL, std::make_pair(0, 64));
  cache->attend(exec, 0, rows, device_plan, out);
  for (const float x : to_host(exec, out)) CHECK(x == 0);
}

}  // namespace
}  // namespace kvmeter::test

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Layers with windows of their own: groups that go through every step together or not at all.
#include <catch2/catch_test_macros.hpp>

#include "harness/core/error.hpp"
#include "variants/cache_layout.hpp"

namespace kvmeter::test {
namespace {

/// Layers 0 and 2 see everything, layer 1 a window of 8.
CacheLayout mixed_rings() {
  const CacheSpec spec{.n_layers = 3,
                       .n_heads = 1,
                       .n_kv_heads = 1,
                       .head_dim = 4,
                       .batch = 2,
                       .max_tokens = 100,
                       .max_step_tokens = 4,
                       .windows = {0, 8, 0}};
  CacheRecipe recipe;
  recipe.placement = PlacementId::Ring;
  return {recipe, spec, 4096};
}

StepPlan step(std::int32_t slot, std::int32_t first, std::int32_t n_tokens) {
  StepPlan plan;
  plan.sequences.push_back({slot, first, n_tokens});
  return plan;
}

std::vector<std::int32_t> lengths(const CacheLayout& layout, std::int32_t slot) {
  std::vector<std::int32_t> lengths;
  for (const LayerGroup& group : layout.groups()) lengths.push_back(group.placement->length(slot));
  return lengths;
}

TEST_CASE("Layers with one window are one group") {
  const CacheLayout layout = mixed_rings();
  REQUIRE(layout.groups().size() == 2);
  CHECK(layout.groups()[0].layers == std::vector<std::int64_t>{0, 2});
  CHECK(layout.groups()[1].layers == std::vector<std::int64_t>{1});
  CHECK(&layout.group_of(2) == &layout.groups()[0]);
}

TEST_CASE("What one group refuses changes no other") {
  CacheLayout layout = mixed_rings();
  for (std::int32_t n = 0; n < 40; n += 4) layout.reserve(step(0, n, 4));
  const std::vector<std::int32_t> before = lengths(layout, 0);
  REQUIRE(before == std::vector<std::int32_t>{40, 40});

  // The first group has all positions, the second the last 11.
  CHECK_THROWS_AS(layout.reserve(step(0, 20, 1)), Error);
  CHECK(lengths(layout, 0) == before);
  CHECK_THROWS_AS(layout.truncate(0, 20), Error);
  CHECK(lengths(layout, 0) == before);
  CHECK_THROWS_AS(layout.fork(0, 1, 20), Error);
  CHECK(lengths(layout, 1) == std::vector<std::int32_t>{0, 0});

  layout.fork(0, 1, 38);
  layout.truncate(0, 39);
  CHECK(lengths(layout, 0) == std::vector<std::int32_t>{39, 39});
  CHECK(lengths(layout, 1) == std::vector<std::int32_t>{38, 38});
}

}  // namespace
}  // namespace kvmeter::test

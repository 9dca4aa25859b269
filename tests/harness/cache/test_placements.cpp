// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What placements hand out, without any memory behind it.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <set>

#include "tests/support/random.hpp"
#include "variants/placement/placements.hpp"

namespace kvmeter::test {
namespace {

using Catch::Matchers::ContainsSubstring;

/// A placement with the table and copies that a cache keeps beside it.
struct Led {
  std::unique_ptr<Placement> placement;
  BlockTable table;
  BlockCopies copies;

  Led(PlacementId id, const PlacementSpec& spec) : placement(make_placement(id, spec)) {
    table.max_blocks = placement->pool().max_blocks;
    table.ids.assign(static_cast<std::size_t>(spec.batch * table.max_blocks), -1);
  }
  void step(std::int32_t slot, std::int32_t n_tokens) {
    StepPlan plan;
    plan.sequences.push_back({slot, placement->length(slot), n_tokens});
    placement->reserve(plan, table, copies);
  }
  void truncate(std::int32_t slot, std::int32_t n_tokens) {
    placement->truncate(slot, n_tokens, table);
  }
  void fork(std::int32_t from, std::int32_t to, std::int32_t n_tokens) {
    placement->fork(from, to, n_tokens, table, copies);
  }
};

PlacementSpec spec_of(std::int32_t batch, std::int32_t max_tokens, std::int32_t block_tokens) {
  return {batch, max_tokens, max_tokens, block_tokens, 0, 0, 0};
}

TEST_CASE("Paged: rows in use are at most block_tokens - 1 more than tokens, for each sequence") {
  const std::int32_t block = GENERATE(1, 7, 16, 512);
  CAPTURE(block);
  Random random("paged");
  constexpr std::int32_t batch = 9;
  Led led(PlacementId::Paged, spec_of(batch, 700, block));
  for (int i = 0; i < 500; ++i) {
    const auto slot = static_cast<std::int32_t>(random.between(0, batch - 1));
    const std::int32_t length = led.placement->length(slot);
    if (random.between(0, 3) == 0)
      led.truncate(slot, static_cast<std::int32_t>(random.between(0, length)));
    else if (length < 700)
      led.step(slot, static_cast<std::int32_t>(random.between(1, std::min(700 - length, 90))));
    std::int64_t tokens = 0;
    std::int64_t rows = 0;
    for (std::int32_t s = 0; s < batch; ++s) {
      tokens += led.placement->length(s);
      rows += (led.placement->length(s) + block - 1) / block * block;
    }
    const PoolUse use = led.placement->use();
    CHECK(use.kept == tokens);
    CHECK(use.held == tokens);
    CHECK(use.in_use == rows);
    CHECK(use.in_use - use.held <= batch * (block - 1));
  }
}

TEST_CASE("Paged: no block belongs to two sequences, and all are free at the end") {
  Random random("paged blocks");
  Led led(PlacementId::Paged, spec_of(4, 100, 8));
  for (int i = 0; i < 50; ++i)
    for (std::int32_t slot = 0; slot < 4; ++slot) {
      led.truncate(slot, static_cast<std::int32_t>(random.between(0, led.placement->length(slot))));
      if (led.placement->length(slot) < 80)
        led.step(slot, static_cast<std::int32_t>(random.between(1, 20)));
      std::set<std::int32_t> seen;
      for (std::int32_t s = 0; s < 4; ++s)
        for (std::int32_t b = 0; b * 8 < led.placement->length(s); ++b)
          CHECK(seen.insert(led.table.at(s, b)).second);
    }
  for (std::int32_t slot = 0; slot < 4; ++slot) led.truncate(slot, 0);
  CHECK(led.placement->use().in_use == 0);
}

TEST_CASE("Paged: forks share blocks, the last partial one until it is written") {
  Led led(PlacementId::Paged, spec_of(3, 64, 16));
  led.step(0, 40);  // two full blocks and 8 rows of a third
  led.fork(0, 1, 40);
  led.fork(0, 2, 40);
  CHECK(led.copies.empty());
  CHECK(led.placement->use().kept == 120);
  CHECK(led.placement->use().held == 40);
  CHECK(led.placement->use().in_use == 48);
  led.step(1, 1);
  REQUIRE(led.copies.size() == 1);
  CHECK(led.copies[0].from == led.table.at(0, 2));
  CHECK(led.copies[0].to == led.table.at(1, 2));
  CHECK(led.copies[0].n_tokens == 8);
  led.step(0, 1);  // slot 2 shares it still
  CHECK(led.copies.size() == 2);
  led.step(2, 1);  // the last owner writes in place
  CHECK(led.copies.size() == 2);
  CHECK(led.table.at(1, 0) == led.table.at(0, 0));
  CHECK(led.placement->use().held == 32 + 3 * 9);
  for (const std::int32_t slot : {1, 0, 2}) led.truncate(slot, 0);
  CHECK(led.placement->use().in_use == 0);
}

TEST_CASE("Paged: truncated into a shared block, a sequence copies before it writes") {
  Led led(PlacementId::Paged, spec_of(2, 64, 16));
  led.step(0, 32);
  led.fork(0, 1, 32);
  led.truncate(1, 20);
  led.step(1, 1);
  REQUIRE(led.copies.size() == 1);
  CHECK(led.copies[0].n_tokens == 4);
  CHECK(led.table.at(0, 1) != led.table.at(1, 1));
}

TEST_CASE("A pool too small is refused by name, and nothing changes") {
  PlacementSpec spec = spec_of(2, 64, 16);
  spec.pool_tokens = 48;
  Led led(PlacementId::Paged, spec);
  led.step(0, 20);
  StepPlan plan;
  plan.sequences = {{0, 20, 1}, {1, 0, 17}};
  CHECK_THROWS_WITH(led.placement->reserve(plan, led.table, led.copies),
                    ContainsSubstring("2 more blocks of 16 tokens are needed, 1 of 3 are free"));
  CHECK(led.placement->length(0) == 20);
  led.step(1, 16);
  CHECK_THROWS_AS(led.step(1, 1), Error);
}

TEST_CASE("12 GiB at 819,200 bytes a token: 15,728 slots; contiguous 2,048 admit 7 sequences") {
  const std::int64_t slots = (std::int64_t{12} << 30) / 819200;
  CHECK(slots == 15728);
  PlacementSpec spec = spec_of(20, 2048, 16);
  spec.pool_tokens = slots;
  Led contiguous(PlacementId::Contiguous, spec);
  std::int32_t admitted = 0;
  const auto admit = [&] { contiguous.step(admitted, 1); };
  while (admitted < 20) {
    try {
      admit();
    } catch (const Error&) {
      break;
    }
    ++admitted;
  }
  CHECK(admitted == 7);
  const double unusable = 1 - 7.0 * 2048 / static_cast<double>(slots);
  CHECK(std::abs(100 * unusable - 8.85) < 0.005);
  // Blocks of 16 leave nothing of 15,728 = 983 x 16 unused.
  Led paged(PlacementId::Paged, spec);
  for (std::int32_t slot = 0; slot < 7; ++slot) paged.step(slot, 2048);
  paged.step(7, 15728 - 7 * 2048);
  CHECK(paged.placement->use().in_use == 15728);
}

TEST_CASE("Growing doubles, is never longer than the longest, and gives up all it has at the end") {
  Led led(PlacementId::Growing, spec_of(2, 100, 16));
  const auto capacity = [&] { return led.placement->pool().block_tokens; };
  CHECK(led.placement->pool().rows() == 0);
  led.step(0, 10);
  CHECK(capacity() == 10);
  led.step(0, 1);
  CHECK(capacity() == 20);
  led.step(1, 45);
  CHECK(capacity() == 45);
  led.step(1, 1);
  CHECK(capacity() == 90);
  led.step(1, 45);
  CHECK(capacity() == 100);
  led.truncate(1, 0);
  CHECK(capacity() == 100);
  led.truncate(0, 0);
  CHECK(led.placement->pool().rows() == 0);
}

TEST_CASE("A ring has rows for its window and a step, whatever the context") {
  PlacementSpec spec = spec_of(2, 100000, 16);
  spec.window = 64;
  spec.max_step_tokens = 8;
  Led led(PlacementId::Ring, spec);
  CHECK(led.placement->pool().rows() == 2 * (64 + 8 - 1));
  for (int i = 0; i < 1000; ++i) led.step(0, 8);
  CHECK(led.placement->use().kept == 64);
  CHECK_THROWS_WITH(led.step(0, 9), ContainsSubstring("a step of 9 tokens"));
  spec.sink_tokens = 4;
  const Led sinks(PlacementId::Ring, spec);
  CHECK(sinks.placement->pool().rows() == 2 * (16 + 80));  // whole blocks of 16
}

TEST_CASE("A ring goes back as far as its keys are still there") {
  PlacementSpec spec = spec_of(1, 1000, 16);
  spec.window = 10;
  spec.max_step_tokens = 5;  // 14 rows
  Led led(PlacementId::Ring, spec);
  for (int i = 0; i < 20; ++i) led.step(0, 5);
  led.truncate(0, 95);  // the next query sees 86 to 95; 86 to 99 are there
  led.step(0, 1);
  CHECK_THROWS_WITH(led.truncate(0, 94), ContainsSubstring("overwritten"));
  led.truncate(0, 0);
  led.step(0, 5);
}

TEST_CASE("A step after positions that nobody wrote is refused") {
  for (const PlacementId id : {PlacementId::Contiguous, PlacementId::Paged, PlacementId::Growing,
                               PlacementId::Ring, PlacementId::Virtual}) {
    Led led(id, spec_of(1, 10, 4));
    StepPlan plan;
    plan.sequences = {{0, 3, 1}};
    CHECK_THROWS_AS(led.placement->reserve(plan, led.table, led.copies), Error);
  }
}

constexpr auto keeping = {PlacementId::Contiguous, PlacementId::Paged, PlacementId::Growing,
                          PlacementId::Ring, PlacementId::Virtual};

TEST_CASE("Steps that rewind, name a sequence twice or no token are refused, and nothing changes") {
  for (const PlacementId id : keeping) {
    Led led(id, spec_of(2, 40, 4));
    led.step(0, 10);
    const auto refused = [&](const std::vector<StepSequence>& sequences) {
      StepPlan plan;
      plan.sequences = sequences;
      CHECK_THROWS_AS(led.placement->reserve(plan, led.table, led.copies), Error);
      CHECK(led.placement->length(0) == 10);
      CHECK(led.placement->length(1) == 0);
    };
    refused({{0, 9, 1}});
    refused({{0, 0, 12}});
    refused({{0, -3, 1}});
    refused({{0, 10, 1}, {0, 10, 1}});
    refused({{0, 10, 1}, {0, 11, 1}});
    refused({{1, 0, 1}, {0, 10, 0}});
    refused({{2, 0, 1}});
    refused({{-1, 0, 1}});
    refused({{0, 10, 31}});
    led.step(0, 30);
  }
}

TEST_CASE("Without a cache a step brings sequences from their beginning") {
  Led led(PlacementId::None, spec_of(2, 40, 4));
  StepPlan plan;
  plan.sequences = {{0, 0, 10}};
  led.placement->reserve(plan, led.table, led.copies);
  plan.sequences = {{0, 0, 11}, {1, 0, 3}};
  led.placement->reserve(plan, led.table, led.copies);
  plan.sequences = {{0, 11, 1}};
  CHECK_THROWS_AS(led.placement->reserve(plan, led.table, led.copies), Error);
}

TEST_CASE("A ring with sinks never has more rows than all tokens take") {
  for (const std::int32_t block : {1, 16, 64, 512})
    for (const std::int32_t max_tokens : {20, 36, 103, 600}) {
      CAPTURE(block, max_tokens);
      PlacementSpec spec = spec_of(1, max_tokens, block);
      spec.window = 16;
      spec.sink_tokens = 4;
      spec.max_step_tokens = 16;
      const Led led(PlacementId::Ring, spec);
      CHECK(led.placement->pool().rows() <= max_tokens);
      CHECK(led.placement->pool().rows() >= std::min(max_tokens, 16 + 4 + 15));
    }
}

TEST_CASE("A ring goes back to what its sink blocks hold") {
  PlacementSpec spec = spec_of(2, 100, 16);
  spec.window = 8;
  spec.sink_tokens = 4;
  spec.max_step_tokens = 1;  // blocks: one of sinks, one of the ring
  Led led(PlacementId::Ring, spec);
  for (int i = 0; i < 40; ++i) led.step(0, 1);
  CHECK_THROWS_WITH(led.truncate(0, 30), ContainsSubstring("overwritten"));
  led.truncate(0, 10);  // 4 to 9 lie behind the sinks
  led.step(0, 1);
}

TEST_CASE("A ring's fork copies the rows that are there, and one of nothing is empty") {
  PlacementSpec spec = spec_of(3, 1000, 16);
  spec.window = 10;
  spec.max_step_tokens = 5;
  Led led(PlacementId::Ring, spec);
  led.step(0, 5);
  led.fork(0, 1, 4);
  REQUIRE(led.copies.size() == 1);
  CHECK(led.copies[0].n_tokens == 4);
  for (int i = 0; i < 20; ++i) led.step(0, 5);
  led.fork(0, 2, 0);
  for (int i = 0; i < 5; ++i) led.step(2, 5);
  CHECK(led.placement->length(2) == 25);
}

}  // namespace
}  // namespace kvmeter::test

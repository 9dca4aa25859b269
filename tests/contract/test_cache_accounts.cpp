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
  return {.n_layers = 3,
          .n_heads = 6,
          .n_kv_heads = 2,
          .head_dim = 32,
          .batch = 3,
          .max_tokens = 50,
          .max_step_tokens = 8,
          .windows = {0, 7, 1},
          .sink_tokens = 2,
          .block_tokens = 4};
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

TEST_CASE("Rows with scales take 34 and 18 bytes per 32 channels, and 4 more a row") {
  CHECK(row_bytes(CodecId::int8, 64) == 68);
  CHECK(row_bytes(CodecId::int4, 64) == 36);
  CHECK(row_bytes(CodecId::int8_row, 64) == 68);
  CHECK(row_bytes(CodecId::fp8_e4m3, 64) == 64);
  CHECK(row_metadata_bytes(CodecId::int8, 64) == 4);
  CHECK(row_metadata_bytes(CodecId::int4, 128) == 8);
  CHECK(row_metadata_bytes(CodecId::int8_row, 128) == 4);
  // The last group is shorter.
  CHECK(row_bytes(CodecId::int8, 40) == 40 + 4);
  CHECK(row_bytes(CodecId::int4, 40) == 16 + 8 + 4);
  CHECK(row_bytes(CodecId::int8_row, 2) == 4 + 4);
  // What it is padded by is no element.
  CHECK(row_metadata_bytes(CodecId::int4, 40) == 8 + 4 - 4);
  CHECK(row_metadata_bytes(CodecId::int8_row, 2) == 6);
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
          if (oracle::sees(p, key, window, spec.sink_tokens)) {
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

/// Tokens that a layer keeps of a sequence of n.
std::int64_t kept(const Combination& c, const CacheSpec& spec, std::int64_t layer, std::int64_t n) {
  const std::int64_t window = spec.window(layer);
  if (c.placement.id != PlacementId::Ring || window == 0) return n;
  return std::min(n, window + spec.sink_tokens);
}

/// Live bytes of sequences of these lengths, counted layer by layer.
void check_live(const Combination& c, const CacheSpec& spec, const CacheFootprint& held,
                const std::vector<std::int64_t>& lengths) {
  CAPTURE(lengths);
  std::int64_t tokens = 0;
  for (std::int64_t layer = 0; layer < spec.n_layers; ++layer)
    for (const std::int64_t n : lengths) tokens += kept(c, spec, layer, n);
  CHECK(held.tokens == tokens);
  CHECK(held.live_bytes() == tokens * token_bytes(c, spec));
  CHECK(held.scale_bytes == tokens * token_scale_bytes(c, spec));
  CHECK(held.formula_bytes == held.live_bytes() - held.scale_bytes);
  CHECK(held.block_rounding_bytes >= 0);
  CHECK(held.reserve_bytes >= 0);
  CHECK(held.reserved_bytes >= held.allocated_bytes());
}

/// What Kokkos has allocated since is what the cache says, to the byte.
template <class Exec>
void check_ledger(CacheDriver<Exec>& driver, std::int64_t before) {
  CHECK(ledger().live_bytes(cache_area) - before == driver.cache().footprint().ledger_bytes());
}

TEMPLATE_LIST_TEST_CASE("The footprint follows the tokens held, and nothing is unexplained", "",
                        TestExecs) {
  const auto combination = GENERATE(from_range(all_combinations()));
  CAPTURE(combination.name());
  Random random("footprint");
  CacheSpec spec = accounts_spec();
  spec.offload_layers = combination.placement.id == PlacementId::Virtual ? 0 : 1;
  if (!keeps_past(combination.placement.id)) spec.offload_layers = 0;
  const std::int64_t before = ledger().live_bytes(cache_area);
  CacheDriver<TestType> driver(combination, spec, 3 * 50);
  for (std::int32_t slot = 0; slot < 3; ++slot)
    driver.set_rows(slot, random_rows(random, spec, 50));
  const auto check = [&](const std::vector<std::int64_t>& lengths) {
    check_ledger(driver, before);
    if (driver.cache().keeps_past())
      check_live(combination, spec, driver.cache().footprint(), lengths);
    else
      CHECK(driver.cache().footprint() == CacheFootprint{});
  };
  check({0, 0, 0});
  driver.step({{0, 11}, {2, 4}});
  check({11, 0, 4});
  driver.step({{0, 1}, {1, 12}, {2, 8}});
  check({12, 12, 12});
  driver.truncate(0, 10);
  check({10, 12, 12});
  for (std::int32_t slot = 0; slot < 3; ++slot) driver.truncate(slot, 0);
  check({0, 0, 0});
}

TEMPLATE_LIST_TEST_CASE("The footprint was predicted, shared prefixes included", "", TestExecs) {
  const auto combination = GENERATE(from_range(all_combinations()));
  const std::int64_t shared = GENERATE(0, 9, 16);
  CAPTURE(combination.name(), shared);
  Random random("prediction");
  const CacheSpec spec = accounts_spec();
  CacheDriver<TestType> driver(combination, spec, 3 * 50);
  if (shared > 0 && !driver.cache().keeps_past()) return;
  ledger().reset_peak();
  const std::int64_t before =
      ledger().live_bytes(cache_area) - driver.cache().footprint().ledger_bytes();
  driver.set_rows(0, random_rows(random, spec, 50));
  if (shared > 0) driver.step({{0, shared}});
  for (std::int32_t slot = 1; slot < 3; ++slot) {
    if (shared > 0)
      driver.fork(0, slot, shared);
    else
      driver.set_rows(slot, random_rows(random, spec, 50));
  }
  driver.step({{0, 20 - shared}, {1, 20 - shared}, {2, 20 - shared}});
  constexpr int n_decoded = 9;  // more than the tokens of one step
  for (int i = 0; i < n_decoded; ++i) driver.step({{0, 1}, {1, 1}, {2, 1}});
  const HeldTokens held{20 + n_decoded, 20, shared};
  CHECK(driver.cache().footprint() == predict_footprint(combination.recipe(), spec, held));
  const std::int64_t peak = predict_peak_bytes(combination.recipe(), spec, held);
  CHECK(ledger().peak_bytes(cache_area) - before == peak);
  CacheFootprint sum;
  for (std::int64_t layer = 0; layer < spec.n_layers; ++layer)
    sum += predict_layer_footprint(combination.recipe(), spec, layer, held);
  CHECK(sum.allocated_bytes() == driver.cache().footprint().allocated_bytes());
}

TEMPLATE_LIST_TEST_CASE("Steps allocate nothing", "", TestExecs) {
  const auto combination = GENERATE(from_range(all_combinations()));
  CAPTURE(combination.name());
  Random random("steps");
  const CacheSpec spec = accounts_spec();
  CacheDriver<TestType> driver(combination, spec, 3 * 50);
  driver.set_rows(0, random_rows(random, spec, 50));
  driver.step({{0, 20}});
  driver.step({{0, 1}});  // a cache that grows has grown
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

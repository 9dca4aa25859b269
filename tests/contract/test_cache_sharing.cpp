// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Sequences that begin with another's tokens, in shared blocks or copies: nobody sees what the
// others write later.
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "tests/contract/cache_driver.hpp"

namespace kvmeter::test {
namespace {

CacheSpec sharing_spec(std::int64_t block_tokens) {
  return {.n_layers = 2,
          .n_heads = 4,
          .n_kv_heads = 2,
          .head_dim = 32,
          .batch = 4,
          .max_tokens = 60,
          .max_step_tokens = 10,
          .windows = {0, 12},
          .block_tokens = block_tokens};
}

/// `own` after position n, `prefix` before.
SequenceRows with_prefix(const SequenceRows& prefix, SequenceRows own, std::int64_t n) {
  for (std::size_t layer = 0; layer < own.size(); ++layer)
    for (std::int64_t i = 0; i < n; ++i)
      for (const auto member : {&LayerRows::q, &LayerRows::k, &LayerRows::v}) {
        const auto kept = (prefix[layer].*member).row(i);
        std::copy(kept.begin(), kept.end(), (own[layer].*member).row(i).begin());
      }
  return own;
}

TEMPLATE_LIST_TEST_CASE("Forked sequences go their own ways from a partial block", "", TestExecs) {
  const auto combination = GENERATE(from_range(all_combinations()));
  const std::int64_t block = GENERATE(1, 7, 16);
  const std::int64_t prefix = GENERATE(7, 20, 32);
  if (!keeps_past(combination.placement.id)) return;
  if (combination.placement.id != PlacementId::Paged && block != 16) return;
  CAPTURE(combination.name(), block, prefix);
  Random random("fork");
  const CacheSpec spec = sharing_spec(block);
  CacheDriver<TestType> driver(combination, spec, 4 * 10);
  const SequenceRows first = random_rows(random, spec, 60);
  driver.set_rows(0, first);
  driver.step({{0, prefix}});
  for (std::int32_t slot = 1; slot < 4; ++slot) {
    driver.fork(0, slot, prefix);
    driver.set_rows(slot, with_prefix(first, random_rows(random, spec, 60), prefix));
  }
  driver.checked_step({{2, 1}, {0, 1}});
  driver.checked_step({{0, 2}, {1, 9}, {2, 1}, {3, 17}});
  driver.truncate(1, 0);  // its blocks may be taken by others now
  driver.checked_step({{0, 8}, {2, 8}, {3, 1}});
  for (const std::int32_t slot : {3, 0, 2}) driver.truncate(slot, 0);
  CHECK(driver.cache().footprint().live_bytes() == 0);
  CHECK(driver.cache().footprint().block_rounding_bytes == 0);
}

TEMPLATE_LIST_TEST_CASE("Rows written never change when tokens are appended", "", TestExecs) {
  const auto combination = GENERATE(from_range(all_combinations()));
  if (!keeps_past(combination.placement.id)) return;
  CAPTURE(combination.name());
  Random random("unchanged");
  CacheSpec spec = sharing_spec(7);
  spec.windows = {0, 0};
  CacheDriver<TestType> driver(combination, spec, 4 * 10);
  for (std::int32_t slot = 0; slot < 2; ++slot)
    driver.set_rows(slot, random_rows(random, spec, 60));
  driver.step({{0, 20}, {1, 5}});
  const auto rows = [&] {
    std::vector<double> all;
    for (std::int64_t layer = 0; layer < spec.n_layers; ++layer)
      for (std::int64_t i = 0; i < 20; ++i) {
        const auto row = driver.stored_row(0, layer, i);
        all.insert(all.end(), row.k.begin(), row.k.end());
        all.insert(all.end(), row.v.begin(), row.v.end());
      }
    return all;
  };
  const auto before = rows();
  for (int i = 0; i < 30; ++i) driver.step({{0, 1}, {1, 1}});
  CHECK(rows() == before);
}

TEMPLATE_LIST_TEST_CASE("Forks are refused into sequences that hold tokens, and beyond them", "",
                        TestExecs) {
  const auto combination = GENERATE(from_range(lossless_combinations()));
  if (!keeps_past(combination.placement.id)) return;
  CAPTURE(combination.name());
  Random random("refused");
  const CacheSpec spec = sharing_spec(16);
  CacheDriver<TestType> driver(combination, spec, 4 * 10);
  for (std::int32_t slot = 0; slot < 2; ++slot)
    driver.set_rows(slot, random_rows(random, spec, 60));
  driver.step({{0, 9}, {1, 3}});
  CHECK_THROWS_AS(driver.cache().fork(TestType(), 0, 1, 5), Error);
  CHECK_THROWS_AS(driver.cache().fork(TestType(), 0, 2, 10), Error);
  CHECK_THROWS_AS(driver.cache().fork(TestType(), 0, 0, 5), Error);
  driver.checked_step({{0, 1}, {1, 1}});
}

}  // namespace
}  // namespace kvmeter::test

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What every cache must do, over all registered placements, codecs and attentions: append, then
// attend to what is stored, as the oracle does. Memory that nobody wrote holds NaN throughout.
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <numeric>

#include "tests/contract/cache_driver.hpp"
#include "tests/support/all_close.hpp"

namespace kvmeter::test {
namespace {

CacheSpec make_spec(std::int64_t n_heads, std::int64_t n_kv_heads, std::int64_t head_dim,
                    std::int64_t batch, std::int64_t max_tokens) {
  return {.n_layers = 2,
          .n_heads = n_heads,
          .n_kv_heads = n_kv_heads,
          .head_dim = head_dim,
          .batch = batch,
          .max_tokens = max_tokens,
          .windows = {0, 0}};
}

/// Query and KV heads, head_dim: grouped, single, more than a warp, not multiples of one.
CacheSpec random_spec(Random& random, std::int64_t batch, std::int64_t max_tokens) {
  const auto group = random.between(1, 7);
  const auto n_kv_heads = random.between(1, 3);
  const auto head_dim = random.one_of<std::int64_t>({2, 8, 16, 40, 64, 80, 128});
  CacheSpec spec = make_spec(group * n_kv_heads, n_kv_heads, head_dim, batch, max_tokens);
  spec.windows = {0, random.between(1, 20)};
  spec.sink_tokens = random.between(0, 3);
  spec.max_step_tokens = random.between(1, 20);
  spec.block_tokens = random.one_of<std::int64_t>({1, 3, 16, 64, 512});
  return spec;
}

TEMPLATE_LIST_TEST_CASE("Every cache attends to random ragged batches as the oracle does", "",
                        TestExecs) {
  const auto combination = GENERATE(from_range(all_combinations()));
  Random random("ragged " + combination.name());
  const CacheSpec spec = random_spec(random, 3, 48);
  CAPTURE(combination.name(), spec.n_heads, spec.n_kv_heads, spec.head_dim, spec.windows);
  CacheDriver<TestType> driver(combination, spec, 3 * 48);
  for (std::int32_t slot = 0; slot < 3; ++slot)
    driver.set_rows(slot, random_rows(random, spec, 48, random.uniform(0.1, 4)));

  // Ragged prefill, decode of all, of some in another order, and a chunk for one of them.
  driver.checked_step({{0, random.between(1, 17)}, {1, random.between(1, 17)}, {2, 1}});
  driver.checked_step({{0, 1}, {1, 1}, {2, 1}});
  driver.checked_step({{2, 1}, {0, 1}});
  driver.checked_step({{1, random.between(2, 9)}, {2, 1}});
  driver.checked_step({{2, random.between(18, 35)}});
}

/// Prompts of these lengths one after the other, each with a decode step after it.
template <class Exec>
void check_lengths(const Combination& combination, std::int64_t n_heads, std::int64_t n_kv_heads,
                   const std::vector<std::int64_t>& lengths) {
  CAPTURE(combination.name(), n_heads, n_kv_heads);
  Random random("lengths");
  const CacheSpec spec = make_spec(n_heads, n_kv_heads, 16, 1, 130);
  CacheDriver<Exec> driver(combination, spec, 130);
  driver.set_rows(0, random_rows(random, spec, 130));
  for (const std::int64_t length : lengths) {
    driver.truncate(0, 0);
    driver.checked_step({{0, length}});
    driver.checked_step({{0, 1}});
  }
}

TEMPLATE_LIST_TEST_CASE("Prompts of every length", "", TestExecs) {
  const auto combination = GENERATE(from_range(lossless_combinations()));
  std::vector<std::int64_t> lengths(17);
  std::iota(lengths.begin(), lengths.end(), 1);
  lengths.insert(lengths.end(), {31, 32, 33, 63, 64, 65, 129});
  check_lengths<TestType>(combination, 4, 2, lengths);
}

/// Grouping 0 0 1 1 is told from tiling 0 1 0 1; groups of 7 and 71 fill no register block evenly.
TEMPLATE_LIST_TEST_CASE("Query heads share KV heads in groups", "", TestExecs) {
  const auto combination = GENERATE(from_range(lossless_combinations()));
  using Heads = std::pair<std::int64_t, std::int64_t>;
  const auto [n_heads, n_kv_heads] =
      GENERATE(Heads(4, 2), Heads(6, 3), Heads(12, 1), Heads(28, 4), Heads(71, 1));
  if (!thorough && n_heads > 12) return;
  check_lengths<TestType>(combination, n_heads, n_kv_heads, {1, 2, 9, 17, 33, 66});
}

TEMPLATE_LIST_TEST_CASE("A window of W sees W keys, its own included", "", TestExecs) {
  const auto combination = GENERATE(from_range(lossless_combinations()));
  const std::int64_t window = GENERATE(1, 2, 5, 64);
  const std::int64_t prompt = GENERATE_COPY(window - 1, window, window + 1, 2 * window + 3);
  const std::int64_t sinks = GENERATE(0, 1, 4);
  const std::int64_t step = GENERATE(0, 3);
  if (prompt == 0) return;
  if (!thorough && (window > 5 || sinks == 4 || (sinks == 0) != (step == 0))) return;
  CAPTURE(combination.name(), window, prompt, sinks, step);
  Random random("window");
  CacheSpec spec = make_spec(4, 2, 16, 2, prompt + 4);
  spec.windows = {window, 0};
  spec.sink_tokens = sinks;
  spec.max_step_tokens = step;
  spec.block_tokens = 4;
  CacheDriver<TestType> driver(combination, spec, 2 * (prompt + 4));
  for (std::int32_t slot = 0; slot < 2; ++slot)
    driver.set_rows(slot, random_rows(random, spec, prompt + 4));
  driver.checked_step({{0, prompt}, {1, 1}});
  for (int i = 0; i < 3; ++i) driver.checked_step({{1, 1}, {0, 1}});
}

TEMPLATE_LIST_TEST_CASE("The end of the buffer can be reached and not passed", "", TestExecs) {
  const auto combination = GENERATE(from_range(lossless_combinations()));
  CAPTURE(combination.name());
  Random random("end");
  const CacheSpec spec = make_spec(4, 2, 16, 2, 20);
  CacheDriver<TestType> driver(combination, spec, 2 * 21);
  for (std::int32_t slot = 0; slot < 2; ++slot)
    driver.set_rows(slot, random_rows(random, spec, 21));
  driver.checked_step({{0, 19}, {1, 3}});
  driver.checked_step({{0, 1}, {1, 1}});
  CHECK_THROWS_AS(driver.step({{0, 1}}), Error);
  CHECK_THROWS_AS(driver.step({{1, 17}}), Error);
  // What was refused did no harm.
  driver.checked_step({{1, 16}});
}

TEMPLATE_LIST_TEST_CASE("A sequence continues from where it was truncated", "", TestExecs) {
  const auto combination = GENERATE(from_range(lossless_combinations()));
  CAPTURE(combination.name());
  Random random("truncate");
  const CacheSpec spec = make_spec(6, 3, 8, 2, 40);
  CacheDriver<TestType> driver(combination, spec, 2 * 40);
  const SequenceRows before = random_rows(random, spec, 40);
  for (std::int32_t slot = 0; slot < 2; ++slot) driver.set_rows(slot, before);
  driver.checked_step({{0, 30}, {1, 30}});
  // Other tokens from position 7 on, in one of the two.
  SequenceRows after = random_rows(random, spec, 40);
  for (std::size_t layer = 0; layer < after.size(); ++layer)
    for (std::int64_t i = 0; i < 7; ++i)
      for (const auto member : {&LayerRows::q, &LayerRows::k, &LayerRows::v}) {
        const auto kept = (before[layer].*member).row(i);
        std::copy(kept.begin(), kept.end(), (after[layer].*member).row(i).begin());
      }
  driver.truncate(0, 7);
  driver.set_rows(0, after);
  driver.checked_step({{0, 3}, {1, 2}});
  driver.checked_step({{1, 1}, {0, 1}});
}

}  // namespace
}  // namespace kvmeter::test

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Attention in parts: the same bits whether parts run side by side or one after the other, on
// however many threads, and within the bound of the oracle over several parts.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "harness/exec/ledger.hpp"
#include "harness/exec/threads.hpp"
#include "tests/contract/cache_driver.hpp"
#include "variants/attention/split.hpp"

namespace kvmeter::test {
namespace {

CacheSpec long_spec(std::int64_t window) {
  return {.n_layers = 1,
          .n_heads = 4,
          .n_kv_heads = 1,
          .head_dim = 16,
          .batch = 40,
          .max_tokens = 1700,
          .max_step_tokens = 400,
          .windows = {window},
          .sink_tokens = window > 0 ? 5 : 0};
}

Combination split_of(PlacementId id) {
  return {{"", id}, codecs[0], codecs[0], {"split", AttentionId::split}};
}

/// Outputs of one decode step of sequence 0 at 1,601 tokens, with `others` beside it, and whether
/// its parts were kernels of their own.
template <class Exec>
std::pair<std::vector<double>, bool> decode(std::int64_t window, std::int32_t others) {
  Random random("split");
  const CacheSpec spec = long_spec(window);
  CacheDriver<Exec> driver(split_of(PlacementId::Contiguous), spec, 40 * 400);
  driver.set_rows(0, random_rows(random, spec, 1700));
  driver.append_only({{0, 400}});
  for (int i = 0; i < 3; ++i) driver.append_only({{0, 400}});
  std::vector<StepPart> parts{{0, 1}};
  for (std::int32_t slot = 1; slot <= others; ++slot) {
    driver.set_rows(slot, random_rows(random, spec, 1));
    parts.push_back({slot, 1});
  }
  const Audit audit;
  const auto out = driver.checked_step(parts).front().front().data;
  return {out, audit.counts().kernels.contains("kvmeter::attention::merge")};
}

TEST_CASE("Parts side by side and one after the other give the same bits") {
  const std::int64_t window = GENERATE(0, 1100);
  CAPTURE(window);
  const auto [alone, split_alone] = decode<Kokkos::Serial>(window, 0);
  const auto [among, split_among] = decode<Kokkos::Serial>(window, 39);
  CHECK(split_alone);
  CHECK(!split_among);
  CHECK(alone == among);
  CHECK(decode<Kokkos::OpenMP>(window, 0).first == alone);
}

TEST_CASE("Many rows over several parts are right") {
  Random random("split prefill");
  const CacheSpec spec = long_spec(0);
  CacheDriver<Kokkos::OpenMP> driver(split_of(PlacementId::Paged), spec, 400);
  driver.set_rows(0, random_rows(random, spec, 1200));
  for (int i = 0; i < 3; ++i) driver.append_only({{0, 320}});
  driver.checked_step({{0, 200}});
}

}  // namespace
}  // namespace kvmeter::test

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Layers whose rows live in a second memory space: the same bits, other bytes.
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "harness/exec/ledger.hpp"
#include "tests/contract/cache_driver.hpp"

namespace kvmeter::test {
namespace {

CacheSpec offload_spec(std::int64_t offload_layers) {
  return {.n_layers = 3,
          .n_heads = 4,
          .n_kv_heads = 2,
          .head_dim = 32,
          .batch = 3,
          .max_tokens = 90,
          .max_step_tokens = 8,
          .windows = {0, 11, 11},
          .offload_layers = offload_layers};
}

template <class Exec>
std::vector<double> outputs(const Combination& combination, std::int64_t offload_layers) {
  Random random("offload");
  const CacheSpec spec = offload_spec(offload_layers);
  CacheDriver<Exec> driver(combination, spec, 3 * 8);
  for (std::int32_t slot = 0; slot < 2; ++slot)
    driver.set_rows(slot, random_rows(random, spec, 90));
  std::vector<double> all;
  const auto step = [&](const std::vector<StepPart>& parts) {
    for (const PartOutput& part : driver.checked_step(parts))
      for (const oracle::Matrix& layer : part)
        all.insert(all.end(), layer.data.begin(), layer.data.end());
  };
  step({{0, 19}, {1, 3}});
  step({{0, 1}, {1, 1}});
  driver.fork(0, 2, 20);  // blocks that have two owners are brought in once
  step({{0, 1}, {1, 40}, {2, 2}});
  step({{0, 1}, {1, 1}, {2, 1}});
  step({{0, 30}});
  return all;
}

TEMPLATE_LIST_TEST_CASE("Offloaded layers give the same bits", "", TestExecs) {
  const auto combination = GENERATE(from_range(all_combinations()));
  const PlacementId placement = combination.placement.id;
  if (!keeps_past(placement) || maps_pages(placement)) return;
  CAPTURE(combination.name());
  const auto expected = outputs<TestType>(combination, 0);
  CHECK(outputs<TestType>(combination, 1) == expected);
  CHECK(outputs<TestType>(combination, 3) == expected);
}

TEMPLATE_LIST_TEST_CASE("Offloaded bytes are under labels of their own, through one layer's buffer",
                        "", TestExecs) {
  const auto combination = GENERATE(from_range(lossless_combinations()));
  const PlacementId placement = combination.placement.id;
  if (placement != PlacementId::Contiguous && placement != PlacementId::Paged) return;
  CAPTURE(combination.name());
  ledger();  // listens from now on
  const auto cache = make_cache<TestType>(TestType(), combination.recipe(), offload_spec(2));
  const auto label = [](const char* name) {
    return ledger().live_bytes(std::string("kvmeter::cache::") + name);
  };
  CHECK(label("offloaded_k") == 2 * label("k"));
  CHECK(label("staging_k") == label("k"));
  CHECK(label("staging_v") == label("v"));
  const CacheFootprint held = cache->footprint();
  CHECK(held.offloaded_bytes == label("offloaded_k") + label("offloaded_v"));
  CHECK(held.staging_bytes == label("staging_k") + label("staging_v"));
}

}  // namespace
}  // namespace kvmeter::test

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The check before every timing: it passes what is right, and catches caches with faults.
#include "harness/run/reference_check.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "harness/exec/spaces.hpp"
#include "harness/run/prompts.hpp"

namespace kvmeter::run {
namespace {

using Exec = Kokkos::DefaultHostExecutionSpace;
using MemorySpace = Exec::memory_space;

enum class Fault { none, k_and_v_swapped, last_token_unseen, layers_mixed_up, sequences_mixed_up };

/// A cache that does all that the wrapped one does, but for the fault.
class FaultyCache final : public KvCache<Exec> {
 public:
  FaultyCache(std::unique_ptr<KvCache<Exec>> cache, Fault fault)
      : m_cache(std::move(cache)), m_fault(fault) {}

  [[nodiscard]] bool keeps_past() const override { return m_cache->keeps_past(); }
  [[nodiscard]] std::int32_t tile_queries() const override { return m_cache->tile_queries(); }
  void reserve(const Exec& exec, const StepPlan& plan) override { m_cache->reserve(exec, plan); }
  void append(const Exec& exec, std::int64_t layer, const ProjectedRows<MemorySpace>& k,
              const ProjectedRows<MemorySpace>& v, const Plan& plan) override {
    const bool swapped = m_fault == Fault::k_and_v_swapped;
    m_cache->append(exec, m_fault == Fault::layers_mixed_up ? 0 : layer, swapped ? v : k,
                    swapped ? k : v, plan);
  }
  void attend(const Exec& exec, std::int64_t layer, const ProjectedRows<MemorySpace>& q,
              const Plan& plan, const Array2<float, MemorySpace>& out) override {
    m_cache->attend(exec, layer, q, with_fault(exec, plan), out);
  }
  void truncate(std::int32_t slot, std::int32_t n_tokens) override {
    m_cache->truncate(slot, n_tokens);
  }
  void clear() override { m_cache->clear(); }
  void fork(const Exec& exec, std::int32_t from, std::int32_t to, std::int32_t n_tokens) override {
    m_cache->fork(exec, from, to, n_tokens);
  }
  void set_scales(std::int64_t layer, float k_scale, float v_scale) override {
    m_cache->set_scales(layer, k_scale, v_scale);
  }
  [[nodiscard]] CacheFootprint footprint() const override { return m_cache->footprint(); }
  [[nodiscard]] Cost cost(const StepPlan& plan) const override { return m_cache->cost(plan); }
  [[nodiscard]] std::int64_t scratch_bytes() const override { return m_cache->scratch_bytes(); }
  [[nodiscard]] LayerCache layer(std::int64_t index) const override {
    return m_cache->layer(index);
  }

 private:
  /// The plan that attention gets to see.
  Plan with_fault(const Exec& exec, const Plan& plan) {
    exec.fence("kvmeter::test: the host changes the plan");
    Plan changed = plan;
    m_tiles.assign(plan.tiles.data(), plan.tiles.data() + plan.n_tiles);
    for (QueryTile& tile : m_tiles) {
      if (m_fault == Fault::last_token_unseen && tile.first_position > 0) --tile.first_position;
      if (m_fault == Fault::sequences_mixed_up) tile.slot = 0;
    }
    changed.tiles = {m_tiles.data(), m_tiles.size()};
    return changed;
  }

  std::unique_ptr<KvCache<Exec>> m_cache;
  Fault m_fault;
  std::vector<QueryTile> m_tiles;
};

Verdict verdict_of(const std::string& spelling, Fault fault) {
  const Setup s = make_setup(parse_point(spelling), 1);
  WeightsStore weights;
  Session<Exec> session(s);
  session.build_decoder(s, weights);
  session.build_cache(s);
  session.cache = std::make_unique<FaultyCache>(std::move(session.cache), fault);
  return compare_with_reference(session, s, make_prompts(s));
}

}  // namespace

TEST_CASE("The first-steps check tells a faulty cache from a sound one", "[cpu]") {
  const std::string element = GENERATE("f32", "f16", "bf16");
  const std::string cache = GENERATE("contiguous", "none");
  const std::string point = "model=tiny batch=2 prompt_tokens=9 new_tokens=4 cache=" + cache +
                            " k_element=" + element + " v_element=" + element;
  CAPTURE(point);
  const Verdict sound = verdict_of(point, Fault::none);
  CAPTURE(sound.difference, sound.bound);
  CHECK(sound.passed());
  CHECK(sound.bound < 0.1);
  const Fault fault = GENERATE(Fault::k_and_v_swapped, Fault::last_token_unseen,
                               Fault::layers_mixed_up, Fault::sequences_mixed_up);
  // Without a past one pool serves all layers, and every tile begins at position 0.
  if (cache == "none" && (fault == Fault::layers_mixed_up || fault == Fault::last_token_unseen))
    return;
  CAPTURE(static_cast<int>(fault));
  CHECK_FALSE(verdict_of(point, fault).passed());
}

}  // namespace kvmeter::run

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "variants/block_cache.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/core/error.hpp"
#include "harness/exec/spaces.hpp"
#include "harness/exec/threads.hpp"
#include "variants/append.hpp"
#include "variants/footprint.hpp"

namespace kvmeter {
namespace {

template <class Exec>
class BlockCache final : public KvCache<Exec> {
 public:
  using Base = KvCache<Exec>;
  using typename Base::MemorySpace;
  using typename Base::Plan;

  BlockCache(const Exec& exec, const CacheRecipe& recipe, const CacheSpec& spec)
      : m_recipe(recipe),
        m_spec(spec),
        m_placement(make_placement(recipe.placement, {static_cast<std::int32_t>(spec.batch),
                                                      static_cast<std::int32_t>(spec.max_tokens)})),
        m_pool(m_placement->pool()),
        m_attend(attention_entry<Exec>(recipe.attention).attend),
        m_concurrency(thread_count(exec)),
        m_lengths(static_cast<std::size_t>(spec.batch), 0) {
    allocate_pools(exec);
    m_device_table = allocate<Array2<std::int32_t, MemorySpace>>(exec, area() + "block_table",
                                                                 spec.batch, m_pool.max_blocks);
    m_table.ids = allocate<HostArray2<std::int32_t>>(Kokkos::DefaultHostExecutionSpace(),
                                                     "kvmeter::host::block_table", spec.batch,
                                                     m_pool.max_blocks);
    Kokkos::deep_copy(m_table.ids, -1);
  }

  [[nodiscard]] bool keeps_past() const override { return m_placement->keeps_past(); }
  [[nodiscard]] std::int32_t tile_queries() const override {
    return attention::tile_queries<Exec>(static_cast<std::int32_t>(m_spec.n_heads),
                                         static_cast<std::int32_t>(m_spec.n_kv_heads));
  }

  void reserve(const Exec& exec, const StepPlan& plan) override {
    for (const StepSequence& s : plan.sequences)
      KVMETER_EXPECTS(s.slot >= 0 && s.slot < m_spec.batch,
                      "sequence {}; the cache was built for {} of them", s.slot, m_spec.batch);
    m_placement->reserve(plan, m_table);
    for (const StepSequence& s : plan.sequences)
      m_lengths[static_cast<std::size_t>(s.slot)] = s.first_position + s.n_tokens;
    if (!m_table.changed) return;
    Kokkos::deep_copy(exec, m_device_table, m_table.ids);
    m_table.changed = false;
  }

  void append(const Exec& exec, std::int64_t layer_index, const ProjectedRows<MemorySpace>& k,
              const ProjectedRows<MemorySpace>& v, const Plan& plan) override {
    append_rows<Exec>(exec, {layer(layer_index), plan, k, v});
  }

  void attend(const Exec& exec, std::int64_t layer_index, const ProjectedRows<MemorySpace>& q,
              const Plan& plan, const Array2<float, MemorySpace>& out) override {
    const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(m_spec.head_dim)));
    m_attend(exec,
             {layer(layer_index), plan, q, out, static_cast<std::int32_t>(m_spec.n_heads),
              static_cast<std::int32_t>(m_spec.window(layer_index)), scale},
             static_cast<std::int32_t>(m_spec.max_tokens));
  }

  void truncate(std::int32_t slot, std::int32_t n_tokens) override {
    m_placement->truncate(slot, n_tokens, m_table);
    std::int64_t& length = m_lengths[static_cast<std::size_t>(slot)];
    length = std::min<std::int64_t>(length, n_tokens);
  }
  void clear() override {
    for (std::int32_t slot = 0; slot < m_spec.batch; ++slot) truncate(slot, 0);
  }

  [[nodiscard]] CacheFootprint footprint() const override {
    return footprint_of(m_recipe, m_spec, m_pool, keeps_past(),
                        std::accumulate(m_lengths.begin(), m_lengths.end(), std::int64_t{0}));
  }

  [[nodiscard]] Cost cost(const StepPlan& plan) const override {
    return step_cost(m_recipe, m_spec, plan);
  }

  [[nodiscard]] std::int64_t scratch_bytes() const override {
    return attention_scratch_bytes<Exec>(m_recipe, m_spec, m_concurrency);
  }

  [[nodiscard]] LayerCache layer(std::int64_t index) const override {
    const auto pool = static_cast<std::size_t>(m_pool.shared_by_layers ? 0 : index);
    LayerCache handle;
    handle.k = m_k[pool].data();
    handle.v = m_v[pool].data();
    handle.block_table = m_device_table.data();
    handle.max_blocks = m_pool.max_blocks;
    handle.block_tokens = m_pool.block_tokens;
    handle.n_kv_heads = static_cast<std::int32_t>(m_spec.n_kv_heads);
    handle.head_dim = static_cast<std::int32_t>(m_spec.head_dim);
    handle.k_row_bytes = static_cast<std::int32_t>(row_bytes(m_recipe.k_codec, m_spec.head_dim));
    handle.v_row_bytes = static_cast<std::int32_t>(row_bytes(m_recipe.v_codec, m_spec.head_dim));
    handle.k_codec = m_recipe.k_codec;
    handle.v_codec = m_recipe.v_codec;
    return handle;
  }

 private:
  using Pool = Array1<std::byte, MemorySpace>;

  /// What does not outlive a step is no cache.
  [[nodiscard]] std::string area() const {
    return keeps_past() ? "kvmeter::cache::" : "kvmeter::activations::";
  }

  /// Pages are not touched here: what a sequence never reaches stays unbacked by memory.
  void allocate_pools(const Exec& exec) {
    const std::int64_t rows = m_pool.n_blocks * m_spec.n_kv_heads * m_pool.block_tokens;
    const std::int64_t n_pools = m_pool.shared_by_layers ? 1 : m_spec.n_layers;
    for (std::int64_t i = 0; i < n_pools; ++i) {
      m_k.push_back(
          allocate<Pool>(exec, area() + "k", rows * row_bytes(m_recipe.k_codec, m_spec.head_dim)));
      m_v.push_back(
          allocate<Pool>(exec, area() + "v", rows * row_bytes(m_recipe.v_codec, m_spec.head_dim)));
      if (!m_spec.fill) continue;
      Kokkos::deep_copy(exec, m_k.back(), *m_spec.fill);
      Kokkos::deep_copy(exec, m_v.back(), *m_spec.fill);
    }
  }

  CacheRecipe m_recipe;
  CacheSpec m_spec;
  std::unique_ptr<Placement> m_placement;
  PoolShape m_pool;
  decltype(AttentionEntry<Exec>::attend) m_attend;
  std::int64_t m_concurrency;
  std::vector<Pool> m_k;  // per layer [n_blocks * n_kv_heads * block_tokens * row_bytes]
  std::vector<Pool> m_v;
  BlockTable m_table;
  Array2<std::int32_t, MemorySpace> m_device_table;  // [batch, max_blocks]
  std::vector<std::int64_t> m_lengths;               // [batch] tokens held
};

}  // namespace

template <class Exec>
std::unique_ptr<KvCache<Exec>> make_cache(const Exec& exec, const CacheRecipe& recipe,
                                          const CacheSpec& spec) {
  return std::make_unique<BlockCache<Exec>>(exec, recipe, spec);
}

template <class Exec>
std::int64_t attention_scratch_bytes(const CacheRecipe& recipe, const CacheSpec& spec,
                                     std::int64_t concurrency) {
  const auto n_heads = static_cast<std::int32_t>(spec.n_heads);
  const auto n_kv_heads = static_cast<std::int32_t>(spec.n_kv_heads);
  const std::int32_t most_rows = attention::heads_per_team<Exec>(n_heads, n_kv_heads) *
                                 attention::tile_queries<Exec>(n_heads, n_kv_heads);
  return concurrency * attention_entry<Exec>(recipe.attention)
                           .scratch_bytes(most_rows, static_cast<std::int32_t>(spec.head_dim),
                                          static_cast<std::int32_t>(spec.max_tokens));
}

#define KVMETER_INSTANTIATE(Exec)                                                           \
  template std::unique_ptr<KvCache<Exec>> make_cache<Exec>(const Exec&, const CacheRecipe&, \
                                                           const CacheSpec&);               \
  template std::int64_t attention_scratch_bytes<Exec>(const CacheRecipe&, const CacheSpec&, \
                                                      std::int64_t);
KVMETER_FOR_EACH_EXEC(KVMETER_INSTANTIATE)
#undef KVMETER_INSTANTIATE

}  // namespace kvmeter

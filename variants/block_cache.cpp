// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "variants/block_cache.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/core/error.hpp"
#include "harness/exec/spaces.hpp"
#include "harness/exec/threads.hpp"
#include "variants/append.hpp"
#include "variants/cache_layout.hpp"
#include "variants/cache_memory.hpp"
#include "variants/copy_list.hpp"
#include "variants/copy_rows.hpp"
#include "variants/footprint.hpp"

namespace kvmeter {
namespace {

/// Teams that run at the same time.
template <class Exec>
std::int32_t team_count(const Exec& exec) {
  if constexpr (is_host_exec<Exec>) return thread_count(exec);
  return std::max(1, exec.concurrency() / 1024);  // two teams' worth of threads a multiprocessor
}

template <class Exec>
std::int32_t most_rows_of(const CacheSpec& spec) {
  const auto n_heads = static_cast<std::int32_t>(spec.n_heads);
  const auto n_kv_heads = static_cast<std::int32_t>(spec.n_kv_heads);
  return attention::heads_per_team<Exec>(n_heads, n_kv_heads) *
         attention::tile_queries<Exec>(n_heads, n_kv_heads);
}

template <class Exec>
class BlockCache final : public KvCache<Exec> {
 public:
  using Base = KvCache<Exec>;
  using typename Base::MemorySpace;
  using typename Base::Plan;

  BlockCache(const Exec& exec, const CacheRecipe& recipe, const CacheSpec& spec)
      : m_exec(exec),
        m_recipe(recipe),
        m_spec(spec),
        m_layout(recipe, spec, AddressSpace::page_bytes()),
        m_memory(exec, recipe, spec, m_layout, area()),
        m_attention(attention_entry<Exec>(recipe.attention)),
        m_teams(team_count(exec)),
        m_brought(m_layout.groups().size()) {
    for (const LayerGroup& group : m_layout.groups()) {
      m_tables.push_back(
          allocate<Table>(exec, area() + "block_table", m_spec.batch, group.pool.max_blocks));
      m_copies.emplace_back(exec, area() + "block_copies", m_layout.most_copies(group));
    }
    const std::int64_t floats = m_attention.workspace_floats(
        most_rows_of<Exec>(spec), int32(spec.head_dim), int32(spec.max_tokens), m_teams);
    if (floats > 0)  // Kokkos counts a View of nothing as its header
      m_workspace =
          allocate<decltype(m_workspace)>(exec, "kvmeter::activations::attention_parts", floats);
  }

  [[nodiscard]] bool keeps_past() const override { return m_layout.keeps_past(); }
  [[nodiscard]] std::int32_t tile_queries() const override {
    return attention::tile_queries<Exec>(int32(m_spec.n_heads), int32(m_spec.n_kv_heads));
  }

  void reserve(const Exec& exec, const StepPlan& plan) override {
    m_layout.reserve(plan);
    follow(exec);
    if (m_spec.offload_layers > 0) list_brought(plan);
  }

  void append(const Exec& exec, std::int64_t layer_index, const ProjectedRows<MemorySpace>& k,
              const ProjectedRows<MemorySpace>& v, const Plan& plan) override {
    append_rows<Exec>(exec, {layer(layer_index), plan, k, v});
  }

  /// An offloaded layer's rows, the step's own included, are brought in first.
  void attend(const Exec& exec, std::int64_t layer_index, const ProjectedRows<MemorySpace>& q,
              const Plan& plan, const Array2<float, MemorySpace>& out) override {
    LayerCache rows = layer(layer_index);
    if (m_layout.offloaded(layer_index)) {
      const std::size_t group = m_layout.group_index(layer_index);
      const LayerCache home = std::exchange(rows, m_memory.brought_in(rows));
      copy(exec, group, m_brought[group], home, rows);
    }
    const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(m_spec.head_dim)));
    m_attention.attend(
        exec,
        {rows, plan, q, out, int32(m_spec.n_heads), int32(m_spec.window(layer_index)),
         int32(m_spec.sink_tokens), scale, m_teams, m_workspace},
        int32(m_spec.max_tokens));
  }

  void truncate(std::int32_t slot, std::int32_t n_tokens) override {
    m_layout.truncate(slot, n_tokens);
    follow(m_exec);
  }
  void clear() override {
    for (std::int32_t slot = 0; slot < m_spec.batch; ++slot) m_layout.truncate(slot, 0);
    follow(m_exec);
  }

  void fork(const Exec& exec, std::int32_t from, std::int32_t to, std::int32_t n_tokens) override {
    m_layout.fork(from, to, n_tokens);
    follow(exec);
  }

  void set_scales(std::int64_t layer_index, float k_scale, float v_scale) override {
    m_memory.set_scales(layer_index, k_scale, v_scale);
  }

  [[nodiscard]] CacheFootprint footprint() const override { return m_layout.footprint(); }

  [[nodiscard]] Cost cost(const StepPlan& plan) const override {
    return step_cost(m_recipe, m_spec, plan);
  }

  [[nodiscard]] std::int64_t scratch_bytes() const override {
    return attention_scratch_bytes<Exec>(m_recipe, m_spec, m_teams);
  }

  [[nodiscard]] LayerCache layer(std::int64_t index) const override {
    const std::size_t group = m_layout.group_index(index);
    LayerCache handle = m_memory.layer(m_layout.groups()[group], index);
    handle.block_table = m_tables[group].data();
    handle.max_blocks = m_layout.groups()[group].pool.max_blocks;
    return handle;
  }

 private:
  using Table = Array2<std::int32_t, MemorySpace>;

  static std::int32_t int32(std::int64_t n) { return static_cast<std::int32_t>(n); }

  /// What does not outlive a step is no cache.
  [[nodiscard]] std::string area() const {
    return keeps_past() ? "kvmeter::cache::" : "kvmeter::activations::";
  }

  /// Lets memory and tables follow what the placements have decided.
  void follow(const Exec& exec) {
    for (std::size_t i = 0; i < m_layout.groups().size(); ++i) {
      LayerGroup& group = m_layout.groups()[i];
      if (group.placement->pool() != group.pool) resize(exec, i);
      m_memory.follow_pages(exec, m_layout, group);
      for (const std::int64_t index : group.layers)
        if (!group.copies.empty()) copy(exec, i, group.copies, layer(index), layer(index));
      group.copies.clear();
      if (std::exchange(group.table.changed, false)) upload_table(exec, i);
    }
  }

  void upload_table(const Exec& exec, std::size_t i) {
    const Kokkos::View<const std::int32_t**, Kokkos::LayoutRight, Kokkos::HostSpace,
                       Kokkos::MemoryUnmanaged>
        ids(m_layout.groups()[i].table.ids.data(), m_tables[i].extent(0), m_tables[i].extent(1));
    Kokkos::deep_copy(exec, m_tables[i], ids);
  }

  void resize(const Exec& exec, std::size_t i) {
    LayerGroup& group = m_layout.groups()[i];
    const PoolShape before = std::exchange(group.pool, group.placement->pool());
    BlockCopies held;
    for (std::int32_t slot = 0; slot < m_spec.batch; ++slot)
      held.push_back({slot, slot, std::min(group.placement->length(slot), before.block_tokens)});
    if (before.rows() == 0 || group.pool.rows() == 0) held.clear();
    m_memory.resize(
        exec, m_layout, group, before,
        [&](const LayerCache& from, const LayerCache& to) { copy(exec, i, held, from, to); });
  }

  /// The copies that bring an offloaded layer's rows in, for all layers of the step.
  void list_brought(const StepPlan& plan) {
    for (std::size_t i = 0; i < m_brought.size(); ++i) {
      m_brought[i].clear();
      for (const StepSequence& s : plan.sequences)
        m_layout.add_brought(m_layout.groups()[i], s, m_brought[i]);
      keep_one_of_each(m_brought[i]);
    }
  }

  /// As many kernels as the list of copies on the device takes.
  void copy(const Exec& exec, std::size_t group, const BlockCopies& copies, const LayerCache& from,
            const LayerCache& to) {
    CopyList<Exec>& list = m_copies[group];
    const std::size_t most = list.host.extent(0);
    for (std::size_t first = 0; first < copies.size(); first += most) {
      const std::size_t n = std::min(most, copies.size() - first);
      copy_rows<Exec>(exec, {from, to, list.upload(exec, copies, first, n)});
    }
  }

  Exec m_exec;
  CacheRecipe m_recipe;
  CacheSpec m_spec;
  CacheLayout m_layout;
  CacheMemory<Exec> m_memory;
  AttentionEntry<Exec> m_attention;
  std::int32_t m_teams;
  std::vector<BlockCopies> m_brought;      // by group: of the step, into the staging buffer
  std::vector<Table> m_tables;             // by group: [batch, max_blocks]
  std::vector<CopyList<Exec>> m_copies;    // by group
  Array1<float, MemorySpace> m_workspace;  // of the attention
};

template <class Exec>
void check_pages(const CacheRecipe& recipe, const CacheSpec& spec) {
  if (!maps_pages(recipe.placement)) return;
  if (!is_host_exec<Exec>)
    unsupported("cache = virtual on a device: memory is mapped as it is touched on the host only");
  if (spec.offload_layers > 0)
    unsupported("cache = virtual with offload_layers: pages are mapped in the first space only");
}

}  // namespace

template <class Exec>
std::unique_ptr<KvCache<Exec>> make_cache(const Exec& exec, const CacheRecipe& recipe,
                                          const CacheSpec& spec) {
  check_pages<Exec>(recipe, spec);
  return std::make_unique<BlockCache<Exec>>(exec, recipe, spec);
}

template <class Exec>
std::int64_t attention_scratch_bytes(const CacheRecipe& recipe, const CacheSpec& spec,
                                     std::int64_t concurrency) {
  return concurrency * attention_entry<Exec>(recipe.attention)
                           .scratch_bytes(most_rows_of<Exec>(spec),
                                          static_cast<std::int32_t>(spec.head_dim),
                                          static_cast<std::int32_t>(spec.max_tokens));
}

template <class Exec>
std::int64_t attention_workspace_bytes(const Exec& exec, const CacheRecipe& recipe,
                                       const CacheSpec& spec) {
  const std::int64_t floats =
      attention_entry<Exec>(recipe.attention)
          .workspace_floats(most_rows_of<Exec>(spec), static_cast<std::int32_t>(spec.head_dim),
                            static_cast<std::int32_t>(spec.max_tokens), team_count(exec));
  return floats * static_cast<std::int64_t>(sizeof(float));
}

#define KVMETER_INSTANTIATE(Exec)                                                           \
  template std::unique_ptr<KvCache<Exec>> make_cache<Exec>(const Exec&, const CacheRecipe&, \
                                                           const CacheSpec&);               \
  template std::int64_t attention_scratch_bytes<Exec>(const CacheRecipe&, const CacheSpec&, \
                                                      std::int64_t);                        \
  template std::int64_t attention_workspace_bytes<Exec>(const Exec&, const CacheRecipe&,    \
                                                        const CacheSpec&);
KVMETER_FOR_EACH_EXEC(KVMETER_INSTANTIATE)
#undef KVMETER_INSTANTIATE

}  // namespace kvmeter

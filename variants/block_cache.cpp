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
#include "variants/copy_rows.hpp"
#include "variants/footprint.hpp"
#include "variants/row_memory.hpp"

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

/// Room for the copies of one kernel, on both sides.
template <class Exec>
struct CopyList {
  Array1<BlockCopy, typename Exec::memory_space> device;
  HostArray1<BlockCopy> host;

  CopyList() = default;
  CopyList(const Exec& exec, const std::string& label, std::int64_t n)
      : device(allocate<decltype(device)>(exec, label, n)),
        host(allocate<decltype(host)>(Kokkos::DefaultHostExecutionSpace(),
                                      "kvmeter::host::block_copies", n)) {}

  /// Copies [first, first + n) of a list, where kernels can read them.
  auto upload(const Exec& exec, const BlockCopies& copies, std::size_t first, std::size_t n) {
    if constexpr (!is_host_exec<Exec>) exec.fence("kvmeter::cache::copy: the list is written anew");
    std::copy_n(copies.begin() + static_cast<std::ptrdiff_t>(first), n, host.data());
    const auto part = std::make_pair<std::size_t>(0, std::size_t{n});
    Kokkos::deep_copy(exec, Kokkos::subview(device, part), Kokkos::subview(host, part));
    return Kokkos::subview(device, part);
  }
};

/// Blocks with several owners are copied once, as far as the longest of them goes.
void keep_one_of_each(BlockCopies& copies) {
  std::sort(copies.begin(), copies.end(), [](const BlockCopy& a, const BlockCopy& b) {
    return a.to != b.to ? a.to < b.to : a.n_tokens > b.n_tokens;
  });
  const auto same = [](const BlockCopy& a, const BlockCopy& b) { return a.to == b.to; };
  copies.erase(std::unique(copies.begin(), copies.end(), same), copies.end());
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
        m_attention(attention_entry<Exec>(recipe.attention)),
        m_teams(team_count(exec)),
        m_layers(static_cast<std::size_t>(spec.n_layers)) {
    if (maps_pages(recipe.placement) && !is_host_exec<Exec>)
      unsupported(
          "cache = virtual on a device: memory is mapped as it is touched on the host only");
    for (LayerGroup& group : m_layout.groups()) {
      m_tables.push_back(
          allocate<Table>(exec, area() + "block_table", m_spec.batch, group.pool.max_blocks));
      m_copies.emplace_back(exec, area() + "block_copies", m_layout.most_copies(group));
      allocate_layers(exec, group);
    }
    if (spec.offload_layers > 0) allocate_staging(exec);
    m_workspace = allocate<decltype(m_workspace)>(
        exec, "kvmeter::activations::attention_parts",
        m_attention.workspace_floats(most_rows_of<Exec>(spec), int32(spec.head_dim),
                                     int32(spec.max_tokens), m_teams));
  }

  [[nodiscard]] bool keeps_past() const override { return m_layout.keeps_past(); }
  [[nodiscard]] std::int32_t tile_queries() const override {
    return attention::tile_queries<Exec>(int32(m_spec.n_heads), int32(m_spec.n_kv_heads));
  }

  void reserve(const Exec& exec, const StepPlan& plan) override {
    m_layout.reserve(plan);
    follow(exec);
    if (m_spec.offload_layers == 0) return;
    for (std::size_t i = 0; i < m_brought.size(); ++i) {
      m_brought[i].clear();
      for (const StepSequence& s : plan.sequences)
        m_layout.add_brought(m_layout.groups()[i], s, m_brought[i]);
      keep_one_of_each(m_brought[i]);
    }
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
      const LayerCache home = rows;
      rows.k = m_staging_k.data();
      rows.v = m_staging_v.data();
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
    Layer& rows = m_layers[static_cast<std::size_t>(layer_index)];
    rows.k_scale = k_scale;
    rows.v_scale = v_scale;
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
    const PoolShape& pool = m_layout.groups()[group].pool;
    const Layer& rows = m_layers[static_cast<std::size_t>(pool.shared_by_layers ? 0 : index)];
    LayerCache handle = handle_of(rows, pool);
    handle.block_table = m_tables[group].data();
    handle.max_blocks = pool.max_blocks;
    return handle;
  }

 private:
  using Table = Array2<std::int32_t, MemorySpace>;
  struct Layer {
    RowMemory<Exec> k, v;  // [n_blocks * n_kv_heads * block_tokens * row_bytes]
    float k_scale = 1;
    float v_scale = 1;
  };

  static std::int32_t int32(std::int64_t n) { return static_cast<std::int32_t>(n); }

  /// What does not outlive a step is no cache.
  [[nodiscard]] std::string area() const {
    return keeps_past() ? "kvmeter::cache::" : "kvmeter::activations::";
  }

  [[nodiscard]] LayerCache handle_of(const Layer& rows, const PoolShape& pool) const {
    LayerCache handle;
    handle.k = rows.k.data();
    handle.v = rows.v.data();
    handle.block_tokens = pool.block_tokens;
    handle.n_kv_heads = int32(m_spec.n_kv_heads);
    handle.head_dim = int32(m_spec.head_dim);
    handle.k_row_bytes = int32(row_bytes(m_recipe.k_codec, m_spec.head_dim));
    handle.v_row_bytes = int32(row_bytes(m_recipe.v_codec, m_spec.head_dim));
    handle.k_codec = m_recipe.k_codec;
    handle.v_codec = m_recipe.v_codec;
    handle.k_scale = rows.k_scale;
    handle.v_scale = rows.v_scale;
    return handle;
  }

  [[nodiscard]] std::int64_t pool_bytes(CodecId codec, std::int64_t rows) const {
    return rows * m_spec.n_kv_heads * row_bytes(codec, m_spec.head_dim);
  }

  RowMemory<Exec> allocate_rows(const Exec& exec, RowPlace place, const std::string& label,
                                std::int64_t bytes) const {
    RowMemory<Exec> memory(exec, place, area() + label, bytes);
    if (m_spec.fill && place != RowPlace::mapped)
      fill_bytes(exec, memory.data(), bytes, *m_spec.fill);
    return memory;
  }

  [[nodiscard]] RowPlace place_of(const LayerGroup& group, std::int64_t layer) const {
    if (m_layout.offloaded(layer)) return RowPlace::host_side;
    return group.placement->maps_pages() ? RowPlace::mapped : RowPlace::device;
  }

  void allocate_layer(const Exec& exec, const LayerGroup& group, std::int64_t index, Layer& rows) {
    const RowPlace place = place_of(group, index);
    const std::string prefix = place == RowPlace::host_side ? "offloaded_" : "";
    rows.k =
        allocate_rows(exec, place, prefix + "k", pool_bytes(m_recipe.k_codec, group.pool.rows()));
    rows.v =
        allocate_rows(exec, place, prefix + "v", pool_bytes(m_recipe.v_codec, group.pool.rows()));
  }

  void allocate_layers(const Exec& exec, const LayerGroup& group) {
    for (const std::int64_t layer : group.layers) {
      allocate_layer(exec, group, layer, m_layers[static_cast<std::size_t>(layer)]);
      if (group.pool.shared_by_layers) return;
    }
  }

  void allocate_staging(const Exec& exec) {
    m_brought.resize(m_layout.groups().size());
    const std::int64_t rows = m_layout.staging_rows();
    m_staging_k =
        allocate_rows(exec, RowPlace::device, "staging_k", pool_bytes(m_recipe.k_codec, rows));
    m_staging_v =
        allocate_rows(exec, RowPlace::device, "staging_v", pool_bytes(m_recipe.v_codec, rows));
  }

  /// Lets memory and tables follow what the placements have decided.
  void follow(const Exec& exec) {
    for (std::size_t i = 0; i < m_layout.groups().size(); ++i) {
      LayerGroup& group = m_layout.groups()[i];
      if (group.placement->pool() != group.pool) resize(exec, i);
      follow_pages(exec, group);
      for (const std::int64_t index : group.layers)
        if (!group.copies.empty()) copy(exec, i, group.copies, layer(index), layer(index));
      group.copies.clear();
      if (!group.table.changed) continue;
      const Kokkos::View<const std::int32_t**, Kokkos::LayoutRight, Kokkos::HostSpace,
                         Kokkos::MemoryUnmanaged>
          ids(group.table.ids.data(), m_tables[i].extent(0), m_tables[i].extent(1));
      Kokkos::deep_copy(exec, m_tables[i], ids);
      group.table.changed = false;
    }
  }

  /// Layer by layer: new memory, copies of the rows that are held, then the old memory goes.
  void resize(const Exec& exec, std::size_t i) {
    LayerGroup& group = m_layout.groups()[i];
    const PoolShape before = std::exchange(group.pool, group.placement->pool());
    BlockCopies held;
    for (std::int32_t slot = 0; slot < m_spec.batch && before.rows() > 0; ++slot)
      held.push_back({slot, slot, std::min(group.placement->length(slot), before.block_tokens)});
    if (group.pool.rows() == 0) held.clear();
    for (const std::int64_t index : group.layers) {
      Layer& rows = m_layers[static_cast<std::size_t>(index)];
      Layer next = rows;
      allocate_layer(exec, group, index, next);
      copy(exec, i, held, handle_of(rows, before), handle_of(next, group.pool));
      exec.fence("kvmeter::cache::resize: the old memory goes");
      rows = std::move(next);
    }
    if (m_spec.offload_layers > 0) allocate_staging(exec);
  }

  void follow_pages(const Exec& exec, LayerGroup& group) {
    const auto memory = [&](std::int64_t layer, std::size_t kv) -> RowMemory<Exec>& {
      Layer& rows = m_layers[static_cast<std::size_t>(layer)];
      return kv == 0 ? rows.k : rows.v;
    };
    m_layout.follow_pages(
        group,
        [&](std::size_t kv, std::int64_t first, std::int64_t n) {
          for (const std::int64_t layer : group.layers) {
            memory(layer, kv).mapped().map(first, n);
            const std::int64_t page = AddressSpace::page_bytes();
            if (m_spec.fill)
              fill_bytes(exec, memory(layer, kv).data() + first * page, n * page, *m_spec.fill);
          }
        },
        [&](std::size_t kv, std::int64_t first, std::int64_t n) {
          exec.fence("kvmeter::cache::unmap: pages go");
          for (const std::int64_t layer : group.layers) memory(layer, kv).mapped().unmap(first, n);
        });
  }

  /// As many kernels as the list of copies on the device takes.
  void copy(const Exec& exec, std::size_t group, const BlockCopies& copies, const LayerCache& from,
            const LayerCache& to) {
    CopyList<Exec>& list = m_copies[group];
    const std::size_t most = list.host.extent(0);
    for (std::size_t first = 0; first < copies.size(); first += most) {
      if (first > 0) exec.fence("kvmeter::cache::copy: the list is written anew");
      const std::size_t n = std::min(most, copies.size() - first);
      copy_rows<Exec>(exec, {from, to, list.upload(exec, copies, first, n)});
    }
  }

  Exec m_exec;
  CacheRecipe m_recipe;
  CacheSpec m_spec;
  CacheLayout m_layout;
  AttentionEntry<Exec> m_attention;
  std::int32_t m_teams;
  std::vector<Layer> m_layers;           // [n_layers]
  std::vector<Table> m_tables;           // by group: [batch, max_blocks]
  std::vector<CopyList<Exec>> m_copies;  // by group
  std::vector<BlockCopies> m_brought;    // by group: of the step, into the staging buffer
  RowMemory<Exec> m_staging_k, m_staging_v;
  Array1<float, MemorySpace> m_workspace;  // of the attention
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

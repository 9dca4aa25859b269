// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The memory behind a layout: K and V rows of every layer, and the buffer that offloaded layers are
// brought in through.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness/cache/layer_cache.hpp"
#include "variants/cache_layout.hpp"
#include "variants/row_memory.hpp"

namespace kvmeter {

template <class Exec>
class CacheMemory {
 public:
  /// \param area labels begin with it
  CacheMemory(const Exec& exec, const CacheRecipe& recipe, const CacheSpec& spec,
              const CacheLayout& layout, std::string area)
      : m_recipe(recipe),
        m_spec(spec),
        m_area(std::move(area)),
        m_layers(static_cast<std::size_t>(spec.n_layers)) {
    for (const LayerGroup& group : layout.groups()) allocate_group(exec, layout, group);
    allocate_staging(exec, layout);
  }

  /// A layer's rows, without a block table.
  [[nodiscard]] LayerCache layer(const LayerGroup& group, std::int64_t index) const {
    const Layer& own = m_layers[static_cast<std::size_t>(index)];
    LayerCache handle = handle_of(group.pool.shared_by_layers ? m_layers.front() : own, group.pool);
    handle.k_scale = own.k_scale;
    handle.v_scale = own.v_scale;
    return handle;
  }

  /// The same layer with its rows in the buffer.
  [[nodiscard]] LayerCache brought_in(LayerCache rows) const {
    rows.k = m_staging_k.data();
    rows.v = m_staging_v.data();
    return rows;
  }

  void set_scales(std::int64_t index, float k_scale, float v_scale) {
    Layer& rows = m_layers[static_cast<std::size_t>(index)];
    rows.k_scale = k_scale;
    rows.v_scale = v_scale;
  }

  /// Layer by layer: new memory in the group's present shape, copy(old, new), then the old memory
  /// goes. The buffer goes before, so that it is not there twice.
  template <class Copy>
  void resize(const Exec& exec, const CacheLayout& layout, const LayerGroup& group,
              const PoolShape& before, const Copy& copy) {
    m_staging_k = {};
    m_staging_v = {};
    for (const std::int64_t index : group.layers) {
      Layer& rows = m_layers[static_cast<std::size_t>(index)];
      Layer next = rows;
      allocate_layer(exec, layout, group, index, next);
      copy(handle_of(rows, before), handle_of(next, group.pool));
      exec.fence("kvmeter::cache::resize: the old memory goes");
      rows = std::move(next);
    }
    allocate_staging(exec, layout);
  }

  /// Maps and unmaps pages as the group's sequences are long.
  void follow_pages(const Exec& exec, const CacheLayout& layout, LayerGroup& group) {
    layout.follow_pages(
        group,
        [&](std::size_t kv, std::int64_t first, std::int64_t n) {
          for (const std::int64_t index : group.layers) map(exec, rows_of(index, kv), first, n);
        },
        [&](std::size_t kv, std::int64_t first, std::int64_t n) {
          exec.fence("kvmeter::cache::unmap: pages go");
          for (const std::int64_t index : group.layers) rows_of(index, kv).mapped().unmap(first, n);
        });
  }

 private:
  struct Layer {
    RowMemory<Exec> k, v;  // [n_blocks * n_kv_heads * block_tokens * row_bytes]
    float k_scale = 1;
    float v_scale = 1;
  };

  RowMemory<Exec>& rows_of(std::int64_t index, std::size_t kv) {
    Layer& rows = m_layers[static_cast<std::size_t>(index)];
    return kv == 0 ? rows.k : rows.v;
  }

  void map(const Exec& exec, RowMemory<Exec>& memory, std::int64_t first, std::int64_t n) const {
    memory.mapped().map(first, n);
    const std::int64_t page = AddressSpace::page_bytes();
    if (m_spec.fill) fill_bytes(exec, memory.data() + first * page, n * page, *m_spec.fill);
  }

  /// Copies of rows need no scales.
  [[nodiscard]] LayerCache handle_of(const Layer& rows, const PoolShape& pool) const {
    LayerCache handle;
    handle.k = rows.k.data();
    handle.v = rows.v.data();
    handle.block_tokens = pool.block_tokens;
    handle.n_kv_heads = static_cast<std::int32_t>(m_spec.n_kv_heads);
    handle.head_dim = static_cast<std::int32_t>(m_spec.head_dim);
    handle.k_row_bytes = static_cast<std::int32_t>(row_bytes(m_recipe.k_codec, m_spec.head_dim));
    handle.v_row_bytes = static_cast<std::int32_t>(row_bytes(m_recipe.v_codec, m_spec.head_dim));
    handle.k_codec = m_recipe.k_codec;
    handle.v_codec = m_recipe.v_codec;
    return handle;
  }

  /// Memory for rows of all KV heads.
  RowMemory<Exec> allocate_rows(const Exec& exec, RowPlace place, const std::string& label,
                                CodecId codec, std::int64_t rows) const {
    const std::int64_t bytes = rows * m_spec.n_kv_heads * row_bytes(codec, m_spec.head_dim);
    RowMemory<Exec> memory(exec, place, m_area + label, bytes);
    if (m_spec.fill && place != RowPlace::mapped)
      fill_bytes(exec, memory.data(), bytes, *m_spec.fill);
    return memory;
  }

  void allocate_layer(const Exec& exec, const CacheLayout& layout, const LayerGroup& group,
                      std::int64_t index, Layer& rows) const {
    const bool offloaded = layout.offloaded(index);
    const RowPlace place = offloaded                       ? RowPlace::host_side
                           : group.placement->maps_pages() ? RowPlace::mapped
                                                           : RowPlace::device;
    const std::string prefix = offloaded ? "offloaded_" : "";
    rows.k = allocate_rows(exec, place, prefix + "k", m_recipe.k_codec, group.pool.rows());
    rows.v = allocate_rows(exec, place, prefix + "v", m_recipe.v_codec, group.pool.rows());
  }

  void allocate_group(const Exec& exec, const CacheLayout& layout, const LayerGroup& group) {
    for (const std::int64_t index : group.layers) {
      allocate_layer(exec, layout, group, index, m_layers[static_cast<std::size_t>(index)]);
      if (group.pool.shared_by_layers) return;
    }
  }

  /// Nothing where no layer is offloaded.
  void allocate_staging(const Exec& exec, const CacheLayout& layout) {
    const std::int64_t rows = layout.staging_rows();
    m_staging_k = allocate_rows(exec, RowPlace::device, "staging_k", m_recipe.k_codec, rows);
    m_staging_v = allocate_rows(exec, RowPlace::device, "staging_v", m_recipe.v_codec, rows);
  }

  CacheRecipe m_recipe;
  CacheSpec m_spec;
  std::string m_area;
  std::vector<Layer> m_layers;  // [n_layers]
  RowMemory<Exec> m_staging_k, m_staging_v;
};

}  // namespace kvmeter

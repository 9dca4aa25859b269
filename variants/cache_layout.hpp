// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// A cache without its memory: which placement serves which layers, what it has handed out, and the
// bytes that this comes to. A cache is one of these with memory behind it; a prediction is one that
// was led through the same steps.
#pragma once

#include <memory>
#include <vector>

#include "variants/block_cache.hpp"
#include "variants/page_map.hpp"

namespace kvmeter {

/// Layers that one placement serves: all, or those with the same window where that matters.
struct LayerGroup {
  std::unique_ptr<Placement> placement;
  PoolShape pool;  // of each layer, as memory has it
  BlockTable table;
  BlockCopies copies;                // to be made before the next rows are written
  std::vector<std::int64_t> layers;  // in order
  std::vector<PageMap> pages;        // of K and of V of each layer, where pages are mapped
};

class CacheLayout {
 public:
  /// \param page_bytes of placements that map pages
  CacheLayout(const CacheRecipe& recipe, const CacheSpec& spec, std::int64_t page_bytes);

  /// As a placement does, in all groups or, throwing Error, in none.
  void reserve(const StepPlan& plan);
  void truncate(std::int32_t slot, std::int32_t n_tokens);
  void fork(std::int32_t from, std::int32_t to, std::int32_t n_tokens);

  [[nodiscard]] bool keeps_past() const { return m_groups.front().placement->keeps_past(); }
  std::vector<LayerGroup>& groups() { return m_groups; }
  [[nodiscard]] const std::vector<LayerGroup>& groups() const { return m_groups; }
  [[nodiscard]] const LayerGroup& group_of(std::int64_t layer) const {
    return m_groups[m_group_of[static_cast<std::size_t>(layer)]];
  }
  [[nodiscard]] std::size_t group_index(std::int64_t layer) const {
    return m_group_of[static_cast<std::size_t>(layer)];
  }
  [[nodiscard]] bool offloaded(std::int64_t layer) const {
    return layer >= m_spec.n_layers - m_spec.offload_layers;
  }
  /// Copies of blocks that one kernel can be given: for all sequences, or all blocks of one.
  [[nodiscard]] std::int64_t most_copies(const LayerGroup& group) const;
  /// Rows that an offloaded layer's attention is brought for one sequence of a step.
  [[nodiscard]] std::int64_t brought_rows(std::int64_t layer, const StepSequence& s) const;
  /// Adds the copies that bring them: each block that the sequence has, as far as it is filled.
  void add_brought(const LayerGroup& group, const StepSequence& s, BlockCopies& copies) const;
  /// Rows of the buffer that offloaded layers are brought in through.
  [[nodiscard]] std::int64_t staging_rows() const;

  /// What Kokkos allocates for so many rows of one layer, K and V.
  [[nodiscard]] std::int64_t allocated_bytes(std::int64_t rows) const;

  [[nodiscard]] CacheFootprint footprint() const;
  [[nodiscard]] CacheFootprint layer_footprint(std::int64_t layer) const;

  /// Makes a group's page maps follow the sequences' lengths; calls map(k_or_v, first, n) and
  /// unmap(k_or_v, first, n) for runs of pages, the same for all of its layers.
  template <class Map, class Unmap>
  void follow_pages(LayerGroup& group, const Map& map, const Unmap& unmap) const {
    for (std::size_t kv = 0; kv < group.pages.size(); ++kv)
      for (std::int64_t block = 0; block < group.pool.n_blocks; ++block) {
        const std::int64_t bytes = tokens_in(group, block) * row_bytes_of(kv);
        for (std::int64_t head = 0; head < m_spec.n_kv_heads; ++head)
          group.pages[kv].use(
              block * m_spec.n_kv_heads + head, bytes,
              [&](std::int64_t first, std::int64_t n) { map(kv, first, n); },
              [&](std::int64_t first, std::int64_t n) { unmap(kv, first, n); });
      }
  }

 private:
  [[nodiscard]] std::int64_t row_bytes_of(std::size_t kv) const {
    return row_bytes(kv == 0 ? m_recipe.k_codec : m_recipe.v_codec, m_spec.head_dim);
  }
  /// Rows that a block holds of the sequence that has it for its first.
  [[nodiscard]] std::int64_t tokens_in(const LayerGroup& group, std::int64_t block) const;
  [[nodiscard]] std::int64_t brought_blocks(const LayerGroup& group, std::int32_t end) const;
  void add_group(std::int64_t window, std::int64_t page_bytes);
  [[nodiscard]] CacheFootprint rows_footprint(const LayerGroup& group, bool is_offloaded) const;

  CacheRecipe m_recipe;
  CacheSpec m_spec;
  std::vector<LayerGroup> m_groups;
  std::vector<std::size_t> m_group_of;  // [n_layers]
};

}  // namespace kvmeter

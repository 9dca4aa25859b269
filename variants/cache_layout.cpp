// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "variants/cache_layout.hpp"

#include <algorithm>

#include "variants/footprint.hpp"

namespace kvmeter {
namespace {

/// Kokkos makes Views of whole words.
std::int64_t rounded_up(std::int64_t bytes) {
  return (bytes + 7) / 8 * 8;
}

PlacementSpec placement_spec(const CacheSpec& spec, std::int64_t window) {
  const std::int64_t step = spec.max_step_tokens > 0 ? spec.max_step_tokens : spec.max_tokens;
  return {static_cast<std::int32_t>(spec.batch),
          static_cast<std::int32_t>(spec.max_tokens),
          static_cast<std::int32_t>(step),
          static_cast<std::int32_t>(spec.block_tokens),
          static_cast<std::int32_t>(window),
          static_cast<std::int32_t>(spec.sink_tokens),
          spec.pool_tokens};
}

}  // namespace

CacheLayout::CacheLayout(const CacheRecipe& recipe, const CacheSpec& spec, std::int64_t page_bytes)
    : m_recipe(recipe), m_spec(spec) {
  const bool by_window = forgets_beyond_window(recipe.placement);
  std::vector<std::int64_t> windows;  // of the groups
  for (std::int64_t layer = 0; layer < spec.n_layers; ++layer) {
    const std::int64_t window = by_window ? spec.window(layer) : 0;
    const auto found = std::ranges::find(windows, window);
    m_group_of.push_back(static_cast<std::size_t>(found - windows.begin()));
    if (found == windows.end()) {
      windows.push_back(window);
      add_group(window, page_bytes);
    }
    m_groups[m_group_of.back()].layers.push_back(layer);
  }
}

void CacheLayout::add_group(std::int64_t window, std::int64_t page_bytes) {
  LayerGroup group;
  group.placement = make_placement(m_recipe.placement, placement_spec(m_spec, window));
  group.pool = group.placement->pool();
  group.table.max_blocks = group.pool.max_blocks;
  group.table.ids.assign(static_cast<std::size_t>(m_spec.batch * group.pool.max_blocks), -1);
  if (group.placement->maps_pages())
    for (const std::size_t kv : {0U, 1U})
      group.pages.emplace_back(group.pool.n_blocks * m_spec.n_kv_heads,
                               group.pool.block_tokens * row_bytes_of(kv), page_bytes);
  m_groups.push_back(std::move(group));
}

void CacheLayout::reserve(const StepPlan& plan) {
  if (m_groups.size() > 1)
    for (const LayerGroup& group : m_groups) group.placement->check(plan);
  for (LayerGroup& group : m_groups) group.placement->reserve(plan, group.table, group.copies);
}

void CacheLayout::truncate(std::int32_t slot, std::int32_t n_tokens) {
  m_groups.front().placement->check_slot(slot);
  for (const LayerGroup& group : m_groups) group.placement->check_kept(slot, n_tokens);
  for (LayerGroup& group : m_groups) group.placement->truncate(slot, n_tokens, group.table);
}

void CacheLayout::fork(std::int32_t from, std::int32_t to, std::int32_t n_tokens) {
  for (const std::int32_t slot : {from, to}) m_groups.front().placement->check_slot(slot);
  for (const LayerGroup& group : m_groups) group.placement->check_kept(from, n_tokens);
  for (LayerGroup& group : m_groups)
    group.placement->fork(from, to, n_tokens, group.table, group.copies);
}

std::int64_t CacheLayout::tokens_in(const LayerGroup& group, std::int64_t block) const {
  for (std::int32_t slot = 0; slot < m_spec.batch; ++slot)
    if (group.table.at(slot, 0) == block && group.placement->length(slot) > 0)
      return group.placement->length(slot);
  return 0;
}

std::int64_t CacheLayout::most_copies(const LayerGroup& group) const {
  const std::int64_t one = std::max<std::int64_t>(m_spec.batch, group.pool.max_blocks);
  return m_spec.offload_layers > 0 ? std::max(one, group.pool.n_blocks) : one;
}

void CacheLayout::add_brought(const LayerGroup& group, const StepSequence& s,
                              BlockCopies& copies) const {
  const std::int32_t size = group.pool.block_tokens;
  const std::int32_t end = s.first_position + s.n_tokens;
  const std::int64_t most = brought_blocks(group, end);
  for (std::int32_t i = 0; i < most; ++i) {
    const std::int32_t id = group.table.at(s.slot, i);
    copies.push_back({id, id, std::min(size, end - i * size)});
  }
}

std::int64_t CacheLayout::brought_rows(std::int64_t layer, const StepSequence& s) const {
  const LayerGroup& group = group_of(layer);
  const std::int32_t end = s.first_position + s.n_tokens;
  if (!group.placement->forgets_beyond_window()) return end;
  return std::min<std::int64_t>(end, brought_blocks(group, end) * group.pool.block_tokens);
}

/// A ring has fewer blocks than positions need: later ones are the same blocks again.
std::int64_t CacheLayout::brought_blocks(const LayerGroup& group, std::int32_t end) const {
  const std::int32_t size = group.pool.block_tokens;
  const std::int64_t blocks = (std::int64_t{end} + size - 1) / size;
  if (!group.placement->forgets_beyond_window()) return blocks;
  return std::min(blocks, group.pool.n_blocks / m_spec.batch);
}

std::int64_t CacheLayout::staging_rows() const {
  std::int64_t rows = 0;
  for (std::int64_t layer = m_spec.n_layers - m_spec.offload_layers; layer < m_spec.n_layers;
       ++layer)
    rows = std::max(rows, group_of(layer).pool.rows());
  return rows;
}

std::int64_t CacheLayout::allocated_bytes(std::int64_t rows) const {
  std::int64_t bytes = 0;
  for (const CodecId codec : {m_recipe.k_codec, m_recipe.v_codec})
    bytes += rounded_up(rows * m_spec.n_kv_heads * row_bytes(codec, m_spec.head_dim));
  return bytes;
}

/// One layer's rows.
CacheFootprint CacheLayout::rows_footprint(const LayerGroup& group, bool is_offloaded) const {
  const PoolUse use = group.placement->use();
  const TokenBytes token = token_bytes(m_recipe, m_spec);
  CacheFootprint f;
  f.tokens = use.kept;
  f.formula_bytes = use.kept * token.elements;
  f.scale_bytes = use.held * token.metadata;
  f.shared_bytes = (use.kept - use.held) * token.elements;
  f.reserved_bytes = use.all * token.total();
  if (group.pages.empty()) {
    f.block_rounding_bytes = (use.in_use - use.held) * token.total();
    f.reserve_bytes = (use.all - use.in_use) * token.total();
    f.allocator_bytes = allocated_bytes(use.all) - f.reserved_bytes;
  } else {
    f.reserved_bytes = group.pages[0].reserved_bytes() + group.pages[1].reserved_bytes();
    f.block_rounding_bytes =
        group.pages[0].mapped_bytes() + group.pages[1].mapped_bytes() - f.live_bytes();
  }
  if (is_offloaded) f.offloaded_bytes = f.allocated_bytes();
  return f;
}

CacheFootprint CacheLayout::layer_footprint(std::int64_t layer) const {
  if (!keeps_past()) return {};  // what it works with is not a cache
  return rows_footprint(group_of(layer), offloaded(layer));
}

CacheFootprint CacheLayout::footprint() const {
  CacheFootprint sum;
  if (!keeps_past()) return sum;
  for (const LayerGroup& group : m_groups) {
    const auto n_offloaded =
        std::ranges::count_if(group.layers, [&](std::int64_t layer) { return offloaded(layer); });
    sum += (std::ssize(group.layers) - n_offloaded) * rows_footprint(group, false);
    sum += n_offloaded * rows_footprint(group, true);
    for (const std::int64_t bytes :
         {m_spec.batch * group.pool.max_blocks * std::int64_t{sizeof(std::int32_t)},
          most_copies(group) * std::int64_t{sizeof(BlockCopy)}}) {
      sum.table_bytes += bytes;
      sum.allocator_bytes += rounded_up(bytes) - bytes;
    }
  }
  sum.staging_bytes = staging_rows() * token_bytes(m_recipe, m_spec).total();
  sum.allocator_bytes += allocated_bytes(staging_rows()) - sum.staging_bytes;
  return sum;
}

}  // namespace kvmeter

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "variants/footprint.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "harness/core/error.hpp"
#include "harness/exec/address_space.hpp"
#include "variants/cache_layout.hpp"

namespace kvmeter {
namespace {

/// Keys that the queries of a sequence's step can see, and (query, key) pairs, in one layer.
struct Visible {
  std::int64_t keys = 0;
  std::int64_t pairs = 0;
};

/// A query at p sees positions [0, sinks) and (p - window, p].
Visible visible_of(const StepSequence& s, std::int64_t window, std::int64_t sinks) {
  const std::int64_t end = s.first_position + s.n_tokens;
  if (window == 0 || end <= window + sinks)
    return {end, s.n_tokens * (s.first_position + end + 1) / 2};
  const std::int64_t begin = std::max<std::int64_t>(0, s.first_position - window + 1);
  std::int64_t pairs = 0;
  for (std::int64_t p = s.first_position; p < end; ++p)
    pairs += std::min(p + 1, window + std::min(sinks, std::max<std::int64_t>(0, p - window + 1)));
  return {end - begin + std::min(sinks, begin), pairs};
}

}  // namespace

std::int64_t row_bytes(CodecId codec, std::int64_t head_dim) {
  std::int64_t bytes = 0;
  visit_codec(codec, [&](auto c) { bytes = c.row_bytes(static_cast<std::int32_t>(head_dim)); });
  return bytes;
}

std::int64_t row_metadata_bytes(CodecId codec, std::int64_t head_dim) {
  std::int64_t bytes = 0;
  visit_codec(codec,
              [&](auto c) { bytes = c.metadata_bytes(static_cast<std::int32_t>(head_dim)); });
  return bytes;
}

TokenBytes token_bytes(const CacheRecipe& recipe, const CacheSpec& spec) {
  TokenBytes bytes;
  for (const CodecId codec : {recipe.k_codec, recipe.v_codec}) {
    const std::int64_t metadata = row_metadata_bytes(codec, spec.head_dim);
    bytes.metadata += spec.n_kv_heads * metadata;
    bytes.elements += spec.n_kv_heads * (row_bytes(codec, spec.head_dim) - metadata);
  }
  return bytes;
}

namespace {

/// Leads a layout through the steps that bring these tokens, as a generation would.
class DryRun {
 public:
  DryRun(const CacheRecipe& recipe, const CacheSpec& spec, const HeldTokens& held)
      : m_layout(recipe, spec, AddressSpace::page_bytes()), m_spec(spec) {
    if (!m_layout.keeps_past()) return;
    const auto each = static_cast<std::int32_t>(held.each);
    const auto shared = static_cast<std::int32_t>(held.shared);
    const auto prefilled = static_cast<std::int32_t>(held.prefilled > 0 ? held.prefilled : each);
    std::int64_t most = spec.max_step_tokens > 0 ? spec.max_step_tokens : spec.max_tokens;
    if (held.most_per_step > 0) most = std::min(most, held.most_per_step);
    if (shared > 0) {
      advance(1, 0, shared, static_cast<std::int32_t>(most));
      for (std::int32_t slot = 1; slot < spec.batch; ++slot) m_layout.fork(0, slot, shared);
    }
    advance(static_cast<std::int32_t>(spec.batch), shared, prefilled,
            static_cast<std::int32_t>(most));
    decode(static_cast<std::int32_t>(spec.batch), prefilled, each, static_cast<std::int32_t>(most));
    for (LayerGroup& group : m_layout.groups()) {
      const auto nothing = [](std::size_t, std::int64_t, std::int64_t) {};
      m_layout.follow_pages(group, nothing, nothing);
    }
    m_peak = std::max(m_peak, m_layout.footprint().ledger_bytes());
  }

  [[nodiscard]] const CacheLayout& layout() const { return m_layout; }
  [[nodiscard]] std::int64_t peak_bytes() const { return m_peak; }

 private:
  void advance(std::int32_t batch, std::int32_t from, std::int32_t to, std::int32_t step) {
    for (std::int32_t first = from; first < to; first += step) {
      StepPlan plan;
      for (std::int32_t slot = 0; slot < batch; ++slot)
        plan.sequences.push_back({slot, first, std::min(step, to - first)});
      m_layout.reserve(plan);
      for (LayerGroup& group : m_layout.groups()) grow(group);
    }
  }

  /// Single steps where memory grows; those between them leave nothing behind. A ring takes no
  /// longer steps than it was built for.
  void decode(std::int32_t batch, std::int32_t from, std::int32_t to, std::int32_t most) {
    while (from < to) {
      const LayerGroup& group = m_layout.group_of(0);
      const bool at_once = group.pool.max_blocks == 1 && !group.placement->forgets_beyond_window();
      const std::int32_t room =
          at_once ? std::min(to, group.pool.block_tokens) - from : std::min(to - from, most);
      const std::int32_t end = from + std::max(1, room);
      advance(batch, from, end, end - from);
      from = end;
    }
  }

  /// While a layer grows, its old memory is there besides, and the buffer of offloaded ones is not.
  void grow(LayerGroup& group) {
    const PoolShape before = std::exchange(group.pool, group.placement->pool());
    if (before == group.pool || before.rows() == 0) return;
    const std::int64_t all = m_layout.footprint().ledger_bytes();
    const std::int64_t copying = all - m_layout.allocated_bytes(m_layout.staging_rows()) +
                                 m_layout.allocated_bytes(before.rows());
    m_peak = std::max({m_peak, all, copying});
  }

  CacheLayout m_layout;
  CacheSpec m_spec;
  std::int64_t m_peak = 0;
};

}  // namespace

CacheFootprint predict_footprint(const CacheRecipe& recipe, const CacheSpec& spec,
                                 const HeldTokens& held) {
  return DryRun(recipe, spec, held).layout().footprint();
}

CacheFootprint predict_layer_footprint(const CacheRecipe& recipe, const CacheSpec& spec,
                                       std::int64_t layer, const HeldTokens& held) {
  return DryRun(recipe, spec, held).layout().layer_footprint(layer);
}

std::int64_t predict_peak_bytes(const CacheRecipe& recipe, const CacheSpec& spec,
                                const HeldTokens& held) {
  return DryRun(recipe, spec, held).peak_bytes();
}

std::int64_t transient_bytes(const CacheRecipe& recipe, const CacheSpec& spec) {
  const CacheLayout layout(recipe, spec, AddressSpace::page_bytes());
  if (layout.keeps_past()) return 0;
  return layout.group_of(0).pool.rows() * token_bytes(recipe, spec).total();
}

namespace {

/// Entries of block tables or page maps.
std::int64_t table_entries(const CacheRecipe& recipe, const CacheSpec& spec) {
  if (maps_pages(recipe.placement)) {
    const std::int64_t row =
        row_bytes(recipe.k_codec, spec.head_dim) + row_bytes(recipe.v_codec, spec.head_dim);
    return spec.batch * spec.max_tokens * spec.n_kv_heads * row / AddressSpace::page_bytes();
  }
  CacheSpec few = spec;  // how large blocks are shows in a short cache as well
  few.batch = 1;
  few.max_tokens = std::min<std::int64_t>(spec.max_tokens, 1 << 16);
  few.pool_tokens = 0;
  std::int64_t entries = 0;
  const CacheLayout layout(recipe, few, AddressSpace::page_bytes());
  for (const LayerGroup& group : layout.groups())
    if (group.pool.max_blocks > 1)
      entries += spec.batch * (spec.max_tokens / group.pool.block_tokens);
  return entries;
}

}  // namespace

void check_layout(const CacheRecipe& recipe, const CacheSpec& spec) {
  constexpr std::int64_t most = 1 << 25;
  for (const CodecId codec : {recipe.k_codec, recipe.v_codec})
    if (codec == CodecId::int4 && spec.head_dim % 2 != 0)
      unsupported("int4 with head_dim {}: two elements share a byte; expected an even head_dim",
                  spec.head_dim);
  const std::int64_t entries = table_entries(recipe, spec);
  if (entries > most)
    unsupported("{} blocks or pages; at most {} can be led through", entries, most);
}

Cost step_cost(const CacheRecipe& recipe, const CacheSpec& spec, const StepPlan& plan) {
  const std::int64_t token = token_bytes(recipe, spec).total();
  std::optional<CacheLayout> layout;  // takes time to make
  if (spec.offload_layers > 0) layout.emplace(recipe, spec, AddressSpace::page_bytes());
  Cost cost;
  for (std::int64_t layer = 0; layer < spec.n_layers; ++layer) {
    for (const StepSequence& s : plan.sequences) {
      const Visible visible = visible_of(s, spec.window(layer), spec.sink_tokens);
      cost.bytes_read += visible.keys * token;
      cost.bytes_written += s.n_tokens * token;
      cost.flops += 4 * visible.pairs * spec.n_heads * spec.head_dim;
      if (!layout || !layout->offloaded(layer)) continue;
      const std::int64_t brought = layout->brought_rows(layer, s) * token;
      cost.bytes_read += brought;
      cost.bytes_written += brought;
    }
  }
  return cost;
}

}  // namespace kvmeter

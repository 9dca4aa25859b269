// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What one team computes: the queries of a tile, for the query heads of one KV head, against the
// rows they may see. The (query, head) pairs are the rows m of small matrices in scratch:
//
//   for m: for t visible: s[m][t] = q[m] . K[t];  p = softmax(s[m]);  out[m] = sum_t p[t] V[t]
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>

#include "harness/cache/device_plan.hpp"
#include "harness/cache/kv_cache.hpp"
#include "harness/cache/layer_cache.hpp"
#include "harness/exec/pack.hpp"

namespace kvmeter::attention {

/// Sizes of a team's work, by execution space.
template <class Exec>
struct Shape {
  static constexpr int width = pack_width<Exec>;
  static constexpr int tile_tokens = is_host_exec<Exec> ? 64 : 32;  // rows of K or V taken at once
  static constexpr int most_rows = is_host_exec<Exec> ? 64 : 16;    // (query, head) pairs
  static constexpr int few_rows = 8;   // up to here K and V are used as they are decoded
  static constexpr int row_block = 8;  // rows of a register block; scratch is padded to it
  static constexpr int team_size = is_host_exec<Exec> ? 1 : 4;
  static constexpr int vector_length = is_host_exec<Exec> ? 1 : 32;
};

/// Everything that an attention kernel reads and writes.
template <class Exec>
struct Arguments {
  using MemorySpace = typename Exec::memory_space;
  LayerCache cache;
  DevicePlan<MemorySpace> plan;
  ProjectedRows<MemorySpace> q;    // [n_rows, n_heads * head_dim]
  Array2<float, MemorySpace> out;  // [n_rows, n_heads * head_dim]
  std::int32_t n_heads = 0;
  std::int32_t window = 0;               // 0: all
  std::int32_t sinks = 0;                // first positions that a window sees besides
  float scale = 1;                       // of the scores
  std::int32_t teams = 1;                // that run at the same time
  Array1<float, MemorySpace> workspace;  // of algorithms that need more than scratch
};

/// Query heads of one KV head that a team takes; more than most_rows are split over several teams.
template <class Exec>
KOKKOS_INLINE_FUNCTION std::int32_t heads_per_team(std::int32_t n_heads, std::int32_t n_kv_heads) {
  const std::int32_t group = n_heads / n_kv_heads;
  return group < Shape<Exec>::most_rows ? group : Shape<Exec>::most_rows;
}

/// Queries per tile, so that queries x heads fill a team's rows.
template <class Exec>
std::int32_t tile_queries(std::int32_t n_heads, std::int32_t n_kv_heads) {
  return Shape<Exec>::most_rows / heads_per_team<Exec>(n_heads, n_kv_heads);
}

/// One team's part of the work.
struct Work {
  QueryTile tile;
  std::int32_t kv_head;
  std::int32_t first_head;  // query head
  std::int32_t n_heads;     // query heads here
  std::int32_t n_rows;      // tile.n_queries * n_heads
  std::int32_t window;
  std::int32_t sinks;
  std::int32_t sink_end;  // positions [0, sink_end) and [begin, end) are visible to some row
  std::int32_t begin;
  std::int32_t end;

  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int32_t position_of(std::int32_t m) const {
    return tile.first_position + m / n_heads;
  }
  /// Row m sees positions [visible_begin(m), position_of(m)], which count the token itself, and
  /// with a window the sinks before them.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int32_t visible_begin(std::int32_t m) const {
    const std::int32_t first = window > 0 ? position_of(m) - window + 1 : 0;
    return first > 0 ? first : 0;
  }
};

/// The work of team `league_rank` out of n_tiles x n_kv_heads x parts of a group.
template <class Exec>
KOKKOS_INLINE_FUNCTION Work work_of(const Arguments<Exec>& a, std::int32_t league_rank) {
  const std::int32_t group = a.n_heads / a.cache.n_kv_heads;
  const std::int32_t per_team = heads_per_team<Exec>(a.n_heads, a.cache.n_kv_heads);
  const std::int32_t parts = (group + per_team - 1) / per_team;
  const std::int32_t part = league_rank % parts;
  const std::int32_t rest = league_rank / parts;
  Work w{};
  w.kv_head = rest % a.cache.n_kv_heads;
  w.tile = a.plan.tiles(rest / a.cache.n_kv_heads);
  w.first_head = w.kv_head * group + part * per_team;
  w.n_heads = group - part * per_team < per_team ? group - part * per_team : per_team;
  w.n_rows = w.tile.n_queries * w.n_heads;
  w.window = a.window;
  w.sinks = a.window > 0 ? a.sinks : 0;
  w.begin = w.visible_begin(0);
  w.end = w.tile.first_position + w.tile.n_queries;
  w.sink_end = w.sinks;
  if (w.sinks >= w.begin) w.begin = w.sink_end = 0;  // nothing lies between them
  return w;
}

template <class Exec>
std::int32_t league_size(const Arguments<Exec>& a) {
  const std::int32_t group = a.n_heads / a.cache.n_kv_heads;
  const std::int32_t per_team = heads_per_team<Exec>(a.n_heads, a.cache.n_kv_heads);
  return a.plan.n_tiles * a.cache.n_kv_heads * ((group + per_team - 1) / per_team);
}

/// Positions that are taken at once. They begin at multiples of tile_tokens, whatever is visible
/// and wherever blocks end: so what a query gets does not depend on how K and V are laid out, nor
/// on which other queries a team has.
struct Tile {
  std::int32_t first;               // a multiple of tile_tokens: column 0
  std::int32_t begin, end;          // what some row of the work may see: at least one position,
  std::int32_t gap_begin, gap_end;  // but for these between sinks and window, which may be gone

  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int32_t n_columns() const { return end - first; }
};

/// The tile that begins at or before a position.
template <class Exec>
KOKKOS_INLINE_FUNCTION std::int32_t tile_of(std::int32_t position) {
  return position / Shape<Exec>::tile_tokens * Shape<Exec>::tile_tokens;
}

/// Where the first tile begins.
template <class Exec>
KOKKOS_INLINE_FUNCTION std::int32_t tiles_begin(const Work& w) {
  return w.sink_end > 0 ? 0 : tile_of<Exec>(w.begin);
}

KOKKOS_INLINE_FUNCTION std::int32_t clamped(std::int32_t x, std::int32_t low, std::int32_t high) {
  return x < low ? low : x > high ? high : x;
}

/// Calls function(tile) for the tiles that cover what is visible of positions [from, to), in their
/// order. \pre from and to are multiples of tile_tokens, or to is no less than w.end
template <class Exec, class Function>
KOKKOS_INLINE_FUNCTION void for_each_tile(const Work& w, std::int32_t from, std::int32_t to,
                                          const Function& function) {
  constexpr std::int32_t size = Shape<Exec>::tile_tokens;
  const std::int32_t stop = w.end < to ? w.end : to;
  const std::int32_t start = tiles_begin<Exec>(w);
  for (std::int32_t first = start > from ? start : from; first < stop; first += size) {
    if (first >= w.sink_end && first + size <= w.begin) first = tile_of<Exec>(w.begin);
    if (first >= stop) break;
    const std::int32_t begin = first < w.sink_end || first > w.begin ? first : w.begin;
    std::int32_t end = first + size < w.end ? first + size : w.end;
    if (end <= w.begin && end > w.sink_end) end = w.sink_end;  // sinks alone
    function(
        Tile{first, begin, end, clamped(w.sink_end, begin, end), clamped(w.begin, begin, end)});
  }
}
template <class Exec, class Function>
KOKKOS_INLINE_FUNCTION void for_each_tile(const Work& w, const Function& function) {
  for_each_tile<Exec>(w, 0, w.end, function);
}

/// Calls function(run) for the runs that make up a tile, in their order.
template <class Function>
KOKKOS_INLINE_FUNCTION void for_each_run(const LayerCache& cache, const Work& w, const Tile& tile,
                                         const Function& function) {
  for (std::int32_t position = tile.begin; position < tile.end;) {
    if (position == tile.gap_begin) position = tile.gap_end;
    const std::int32_t end = position < tile.gap_begin ? tile.gap_begin : tile.end;
    const Run run = cache.run(w.tile.slot, w.kv_head, position, end, end - position);
    function(run);
    position += run.n_rows;
  }
}

}  // namespace kvmeter::attention

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Scores and weighted sums of a tile: the choice between few and many rows, and the codec, made
// once per tile.
#pragma once

#include "variants/attention/few_rows.hpp"
#include "variants/attention/many_rows.hpp"

namespace kvmeter::attention {

/// scores[m * score_stride + t] = q[m] . K[tile.first + t], padded to whole packs. Channels c, c +
/// width, c + 2 width, ... are summed first, then these sums from c = 0 up, in float and with fused
/// multiply-adds: the same bits with few rows as with many, and however a tile falls into runs.
template <class Exec, class Team>
KOKKOS_INLINE_FUNCTION void score_tile(const Team& team, const LayerCache& cache, const Work& w,
                                       const Tile& tile, const Scratch<Exec>& s, float* scores) {
  visit_codec(cache.k_codec, [&](auto codec) {
    using Codec = decltype(codec);
    const bool few = w.n_rows <= Shape<Exec>::few_rows;
    for_each_run(cache, w, tile, [&](const Run& run) {
      const std::int32_t column = run.first - tile.first;
      if (few)
        FewScores<Exec>::template run<Codec>(team, cache, run, w.n_rows, s, scores + column);
      else
        ManyScores<Exec>::template decode<Codec>(team, cache, run, s, column);
    });
    if (few) return;
    team.team_barrier();
    ManyScores<Exec>::multiply(team, cache, tile.n_columns(), s, scores);
  });
  team.team_barrier();
}

/// out[m] = scale[m] out[m] + sum over the tile of weights[m * score_stride + t] V[tile.first + t],
/// from t = tile.begin - tile.first up.
template <class Exec, class Team>
KOKKOS_INLINE_FUNCTION void sum_tile(const Team& team, const LayerCache& cache, const Work& w,
                                     const Tile& tile, const Scratch<Exec>& s,
                                     const float* weights) {
  visit_codec(cache.v_codec, [&](auto codec) {
    using Codec = decltype(codec);
    const bool few = w.n_rows <= Shape<Exec>::few_rows;
    for_each_run(cache, w, tile, [&](const Run& run) {
      const std::int32_t column = run.first - tile.first;
      if (few)
        FewSums<Exec>::template run<Codec>(team, cache, run, w.n_rows, s, weights + column,
                                           run.first == tile.begin);
      else
        ManySums<Exec>::template decode<Codec>(team, cache, run, s, column);
    });
    if (few) return;
    team.team_barrier();
    const std::int32_t gap = tile.gap_begin - tile.first;
    const std::int32_t after = tile.gap_end - tile.first;
    const bool has_gap = gap < after;
    ManySums<Exec>::multiply(team, tile.begin - tile.first, has_gap ? gap : tile.n_columns(), s,
                             weights, true);
    if (!has_gap) return;
    team.team_barrier();
    ManySums<Exec>::multiply(team, after, tile.n_columns(), s, weights, false);
  });
  team.team_barrier();
}

/// Scores of row m against n positions become exponentials of their distance to `highest`;
/// invisible ones become 0, and so do those that fill up the last pack. Returns their sum. \pre the
/// first position is a multiple of a pack's width, or sums would depend on it
template <class Exec>
KOKKOS_INLINE_FUNCTION float exponentials(float* scores, std::int32_t n, float highest) {
  using P = Pack<Shape<Exec>::width>;
  P sum = P::splat(0);
  for (std::int32_t t = 0; t < n; t += P::width) {
    const P e = exp(P::load(scores + t) - P::splat(highest));
    e.store(scores + t);
    sum = sum + e;
  }
  return sum.sum();
}

/// Makes invisible scores of row m minus infinity and returns the highest visible one (or minus
/// infinity).
template <class Exec>
KOKKOS_INLINE_FUNCTION float mask_row(float* scores, std::int32_t first, std::int32_t n,
                                      const Work& w, std::int32_t m) {
  using P = Pack<Shape<Exec>::width>;
  constexpr float lowest = -Kokkos::Experimental::infinity_v<float>;
  const std::int32_t begin = w.visible_begin(m) - first;
  const std::int32_t after_sinks = w.sinks > first ? w.sinks - first : 0;
  std::int32_t end = w.position_of(m) + 1 - first;
  end = end < n ? end : n;
  const std::int32_t stop = (n + P::width - 1) / P::width * P::width;
  for (std::int32_t t = after_sinks; t < begin && t < stop; ++t) scores[t] = lowest;
  for (std::int32_t t = end > 0 ? end : 0; t < stop; ++t) scores[t] = lowest;
  P highest = P::splat(lowest);
  for (std::int32_t t = 0; t < stop; t += P::width) highest = max(P::load(scores + t), highest);
  return highest.highest();
}

}  // namespace kvmeter::attention

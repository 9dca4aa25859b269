// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The textbook: all scores of a query into memory, softmax over them, then the weighted sum of V.
// Its score matrix grows with the context. The reference that other algorithms are compared with.
#pragma once

#include "variants/attention/tiles.hpp"

namespace kvmeter::attention {

struct TwoPass {
  /// Columns of the score matrix in scratch: the whole context, a tile's padding, and one pack.
  template <class Exec>
  static std::int32_t score_stride(std::int32_t max_context) {
    constexpr std::int32_t tile = Shape<Exec>::tile_tokens;
    return (max_context + 2 * tile - 1) / tile * tile;
  }

  template <class Exec, class Team>
  KOKKOS_INLINE_FUNCTION static void attend(const Team& team, const Arguments<Exec>& a,
                                            const Work& w, const Scratch<Exec>& s) {
    const std::int32_t first = tiles_begin<Exec>(w);
    for_each_tile<Exec>(w, [&](const Tile& tile) {
      score_tile(team, a.cache, w, tile, s, s.scores + (tile.first - first));
    });
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, w.n_rows), [&](std::int32_t m) {
      float* scores = s.scores + m * s.score_stride;
      const float highest = mask_row<Exec>(scores, first, w.end - first, w, m);
      constexpr float lowest = -Kokkos::Experimental::infinity_v<float>;
      // Nothing visible: -inf - -inf would be NaN.
      s.sum[m] = exponentials<Exec>(scores, w.end - first, highest == lowest ? 0.0F : highest);
    });
    team.team_barrier();
    for_each_tile<Exec>(w, [&](const Tile& tile) {
      sum_tile(team, a.cache, w, tile, s, s.scores + (tile.first - first));
    });
  }
};

}  // namespace kvmeter::attention

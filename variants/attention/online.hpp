// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// One pass over K and V with a running maximum and sum: when the maximum grows, what was summed so
// far is scaled down. M. Milakov, N. Gimelshein, "Online normalizer calculation for softmax", 2018;
// T. Dao et al., "FlashAttention", 2022. Needs no memory that grows with the context.
#pragma once

#include "variants/attention/tiles.hpp"

namespace kvmeter::attention {

struct Online {
  /// Columns of the score matrix in scratch.
  template <class Exec>
  static std::int32_t score_stride(std::int32_t) {
    return Shape<Exec>::tile_tokens;
  }

  template <class Exec, class Team>
  KOKKOS_INLINE_FUNCTION static void attend(const Team& team, const Arguments<Exec>& a,
                                            const Work& w, const Scratch<Exec>& s) {
    attend(team, a, w, s, 0, w.end);
  }

  /// Adds what is visible of positions [from, to) to the output so far.
  template <class Exec, class Team>
  KOKKOS_INLINE_FUNCTION static void attend(const Team& team, const Arguments<Exec>& a,
                                            const Work& w, const Scratch<Exec>& s,
                                            std::int32_t from, std::int32_t to) {
    for_each_tile<Exec>(w, from, to, [&](const Tile& tile) {
      score_tile(team, a.cache, w, tile, s, s.scores);
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, w.n_rows),
                           [&](std::int32_t m) { rescale<Exec>(tile, w, s, m); });
      team.team_barrier();
      sum_tile(team, a.cache, w, tile, s, s.scores);
    });
  }

 private:
  template <class Exec>
  KOKKOS_INLINE_FUNCTION static void rescale(const Tile& tile, const Work& w,
                                             const Scratch<Exec>& s, std::int32_t m) {
    float* scores = s.scores + m * s.score_stride;
    const float before = s.highest[m];
    const float here = mask_row<Exec>(scores, tile.first, tile.n_columns(), w, m);
    const float highest = here > before ? here : before;
    constexpr float lowest = -Kokkos::Experimental::infinity_v<float>;
    // Nothing visible yet, or all of it NaN, which must not vanish: exp(-inf - -inf) would be NaN.
    const float below = highest == lowest ? 0.0F : highest;
    s.scale[m] = before == lowest ? 1.0F : Kokkos::exp(before - highest);
    s.sum[m] = s.sum[m] * s.scale[m] + exponentials<Exec>(scores, tile.n_columns(), below);
    s.highest[m] = highest;
  }
};

}  // namespace kvmeter::attention

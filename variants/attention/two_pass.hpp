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
    for_each_tile<Exec>(a.cache, w, [&](const Run& run) {
      score_tile(team, a.cache, run, w, s, s.scores + (run.first - w.begin));
    });
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, w.n_rows), [&](std::int32_t m) {
      float* scores = s.scores + m * s.score_stride;
      const std::int32_t n = w.end - w.begin;
      s.sum[m] = exponentials<Exec>(scores, n, mask_row<Exec>(scores, w.begin, n, w, m));
    });
    team.team_barrier();
    for_each_tile<Exec>(a.cache, w, [&](const Run& run) {
      sum_tile(team, a.cache, run, w, s, s.scores + (run.first - w.begin));
    });
  }
};

}  // namespace kvmeter::attention

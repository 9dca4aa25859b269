// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Scores and weighted sums of a tile: the choice between few and many rows, and the codec, made
// once per tile.
#pragma once

#include "variants/attention/few_rows.hpp"
#include "variants/attention/many_rows.hpp"

namespace kvmeter::attention {

/// scores[m * score_stride + t] = q[m] . K[t] for the rows t of a run.
template <class Exec, class Team>
KOKKOS_INLINE_FUNCTION void score_tile(const Team& team, const LayerCache& cache, const Run& run,
                                       const Work& w, const Scratch<Exec>& s, float* scores) {
  visit_codec(cache.k_codec, [&](auto codec) {
    using Codec = decltype(codec);
    if (w.n_rows <= Shape<Exec>::few_rows)
      FewScores<Exec>::template run<Codec>(team, cache, run, w.n_rows, s, scores);
    else
      ManyScores<Exec>::template run<Codec>(team, cache, run, w.n_rows, s, scores);
  });
  team.team_barrier();
}

/// out[m] = scale[m] out[m] + sum over the rows t of a run of weights[m * score_stride + t] V[t].
template <class Exec, class Team>
KOKKOS_INLINE_FUNCTION void sum_tile(const Team& team, const LayerCache& cache, const Run& run,
                                     const Work& w, const Scratch<Exec>& s, const float* weights) {
  visit_codec(cache.v_codec, [&](auto codec) {
    using Codec = decltype(codec);
    if (w.n_rows <= Shape<Exec>::few_rows)
      FewSums<Exec>::template run<Codec>(team, cache, run, w.n_rows, s, weights);
    else
      ManySums<Exec>::template run<Codec>(team, cache, run, w.n_rows, s, weights);
  });
  team.team_barrier();
}

/// Scores of row m against positions [first, first + n) become exponentials of their distance to
/// `highest`; invisible ones become 0, and so do those that fill up the last pack. Returns their
/// sum.
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
  std::int32_t end = w.position_of(m) + 1 - first;
  end = end < n ? end : n;
  const std::int32_t stop = (n + P::width - 1) / P::width * P::width;
  for (std::int32_t t = 0; t < begin && t < stop; ++t) scores[t] = lowest;
  for (std::int32_t t = end > 0 ? end : 0; t < stop; ++t) scores[t] = lowest;
  P highest = P::splat(lowest);
  for (std::int32_t t = 0; t < stop; t += P::width) highest = max(P::load(scores + t), highest);
  return highest.highest();
}

}  // namespace kvmeter::attention

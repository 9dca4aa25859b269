// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Scores and weighted sums for few rows (decode): K and V are used as they are decoded, each
// element once for all rows of a block, and never written to scratch.
#pragma once

#include "variants/attention/scratch.hpp"
#include "variants/codec/codecs.hpp"

namespace kvmeter::attention {

inline constexpr int few_rows_block = 4;

/// scores[m][t] = q[m] . K[t] for the rows t of a run; a lane takes one t.
template <class Exec>
struct FewScores {
  using P = Pack<Shape<Exec>::width>;

  template <class Codec, class Team>
  KOKKOS_INLINE_FUNCTION static void run(const Team& team, const LayerCache& cache, const Run& run,
                                         std::int32_t n_rows, const Scratch<Exec>& s,
                                         float* scores) {
    const std::int32_t head_dim = cache.head_dim;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, run.n_rows), [&](std::int32_t t) {
      const std::byte* row = run.k + std::int64_t{t} * cache.k_row_bytes;
      for (std::int32_t m = 0; m < n_rows; m += few_rows_block) {
        P sum[few_rows_block] = {P::splat(0), P::splat(0), P::splat(0), P::splat(0)};
        const float* q = s.q + m * s.channels;
        for (std::int32_t c = 0; c < head_dim; c += P::width) {
          const P k = codec::load_padded<Codec, P::width>(row, c, head_dim);
          for (int r = 0; r < few_rows_block; ++r)
            sum[r] = sum[r] + k * P::load(q + r * s.channels + c);
        }
        for (int r = 0; r < few_rows_block; ++r)
          scores[(m + r) * s.score_stride + t] = sum[r].sum();
      }
    });
  }
};

/// out[m] = scale[m] out[m] + sum_t p[m][t] V[t] over the rows t of a run; a lane takes a pack of
/// channels.
template <class Exec>
struct FewSums {
  using P = Pack<Shape<Exec>::width>;

  template <class Codec, class Team>
  KOKKOS_INLINE_FUNCTION static void run(const Team& team, const LayerCache& cache, const Run& run,
                                         std::int32_t n_rows, const Scratch<Exec>& s,
                                         const float* weights) {
    const std::int32_t head_dim = cache.head_dim;
    const std::int32_t n_packs = (head_dim + P::width - 1) / P::width;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, n_packs), [&](std::int32_t pack) {
      const std::int32_t c = pack * P::width;
      for (std::int32_t m = 0; m < n_rows; m += few_rows_block) {
        P sum[few_rows_block];
        float* out = s.out + m * s.channels + c;
        for (int r = 0; r < few_rows_block; ++r)
          sum[r] = P::splat(s.scale[m + r]) * P::load(out + r * s.channels);
        const std::byte* row = run.v;
        for (std::int32_t t = 0; t < run.n_rows; ++t, row += cache.v_row_bytes) {
          const P v = codec::load_padded<Codec, P::width>(row, c, head_dim);
          for (int r = 0; r < few_rows_block; ++r)
            sum[r] = sum[r] + v * P::splat(weights[(m + r) * s.score_stride + t]);
        }
        for (int r = 0; r < few_rows_block; ++r) sum[r].store(out + r * s.channels);
      }
    });
  }
};

}  // namespace kvmeter::attention

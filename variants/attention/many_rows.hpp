// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Scores and weighted sums for many rows (prefill): a tile of K or V is decoded to float scratch
// once and then multiplied in register blocks of row_block rows by two packs, as a small matrix
// product.
#pragma once

#include "variants/attention/scratch.hpp"
#include "variants/codec/codecs.hpp"

namespace kvmeter::attention {

/// c[r][0 .. 2 packs) += sum_i a[r][i] b[i][..] for row_block rows; the strides are in floats.
template <class P, int Rows>
KOKKOS_INLINE_FUNCTION void multiply_block(const float* a, std::int32_t a_stride, const float* b,
                                           std::int32_t b_stride, std::int32_t n, P (&c)[Rows][2]) {
  for (std::int32_t i = 0; i < n; ++i) {
    const P b0 = P::load(b + i * b_stride);
    const P b1 = P::load(b + i * b_stride + P::width);
    for (int r = 0; r < Rows; ++r) {
      const P x = P::splat(a[r * a_stride + i]);
      c[r][0] = c[r][0] + x * b0;
      c[r][1] = c[r][1] + x * b1;
    }
  }
}

template <class Exec>
struct ManyScores {
  using S = Shape<Exec>;
  using P = Pack<S::width>;

  /// scores[m][t] = q[m] . K[t] for the rows t of a run, padded to whole packs.
  template <class Codec, class Team>
  KOKKOS_INLINE_FUNCTION static void run(const Team& team, const LayerCache& cache, const Run& run,
                                         std::int32_t, const Scratch<Exec>& s, float* scores) {
    decode_transposed<Codec>(team, cache, run, s);
    team.team_barrier();
    const std::int32_t pairs = (run.n_rows + Scratch<Exec>::pair - 1) / Scratch<Exec>::pair;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, pairs * (s.rows / S::row_block)),
                         [&](std::int32_t block) {
                           const std::int32_t t = block % pairs * Scratch<Exec>::pair;
                           const std::int32_t m = block / pairs * S::row_block;
                           P sum[S::row_block][2];
                           for (auto& row : sum) row[0] = row[1] = P::splat(0);
                           multiply_block<P>(s.q + m * s.channels, s.channels, s.tile + t,
                                             S::tile_tokens, cache.head_dim, sum);
                           for (int r = 0; r < S::row_block; ++r) {
                             float* out = scores + (m + r) * s.score_stride + t;
                             sum[r][0].store(out);
                             sum[r][1].store(out + P::width);
                           }
                         });
    team.team_barrier();
  }

 private:
  /// tile[c][t] = K[t][c]; columns past the run are zero.
  template <class Codec, class Team>
  KOKKOS_INLINE_FUNCTION static void decode_transposed(const Team& team, const LayerCache& cache,
                                                       const Run& run, const Scratch<Exec>& s) {
    constexpr std::int32_t columns = S::tile_tokens;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, +columns), [&](std::int32_t t) {
      const std::byte* row = run.k + std::int64_t{t} * cache.k_row_bytes;
      const bool stored = t < run.n_rows;
      for (std::int32_t c = 0; c < cache.head_dim; ++c)
        s.tile[c * S::tile_tokens + t] = stored ? Codec::element(row, c) : 0.0F;
    });
  }
};

template <class Exec>
struct ManySums {
  using S = Shape<Exec>;
  using P = Pack<S::width>;

  /// out[m] = scale[m] out[m] + sum_t p[m][t] V[t] over the rows t of a run.
  template <class Codec, class Team>
  KOKKOS_INLINE_FUNCTION static void run(const Team& team, const LayerCache& cache, const Run& run,
                                         std::int32_t, const Scratch<Exec>& s,
                                         const float* weights) {
    decode<Codec>(team, cache, run, s);
    team.team_barrier();
    const std::int32_t pairs = s.channels / Scratch<Exec>::pair;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, pairs * (s.rows / S::row_block)),
                         [&](std::int32_t block) {
                           const std::int32_t c = block % pairs * Scratch<Exec>::pair;
                           const std::int32_t m = block / pairs * S::row_block;
                           P sum[S::row_block][2];
                           for (int r = 0; r < S::row_block; ++r) {
                             const float* out = s.out + (m + r) * s.channels + c;
                             const P scale = P::splat(s.scale[m + r]);
                             sum[r][0] = scale * P::load(out);
                             sum[r][1] = scale * P::load(out + P::width);
                           }
                           multiply_block<P>(weights + m * s.score_stride, s.score_stride,
                                             s.tile + c, s.channels, run.n_rows, sum);
                           for (int r = 0; r < S::row_block; ++r) {
                             float* out = s.out + (m + r) * s.channels + c;
                             sum[r][0].store(out);
                             sum[r][1].store(out + P::width);
                           }
                         });
    team.team_barrier();
  }

 private:
  /// tile[t][c] = V[t][c]; channels past head_dim are zero.
  template <class Codec, class Team>
  KOKKOS_INLINE_FUNCTION static void decode(const Team& team, const LayerCache& cache,
                                            const Run& run, const Scratch<Exec>& s) {
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, run.n_rows), [&](std::int32_t t) {
      const std::byte* row = run.v + std::int64_t{t} * cache.v_row_bytes;
      for (std::int32_t c = 0; c < s.channels; c += P::width)
        codec::load_padded<Codec, P::width>(row, c, cache.head_dim)
            .store(s.tile + t * s.channels + c);
    });
  }
};

}  // namespace kvmeter::attention

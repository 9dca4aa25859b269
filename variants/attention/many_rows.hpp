// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Scores and weighted sums for many rows (prefill): a tile of K or V is decoded to float scratch
// once, from however many runs, and then multiplied in register blocks of rows by two packs, as a
// small matrix product. Every sum has the order that few_rows.hpp has.
#pragma once

#include "variants/attention/scratch.hpp"
#include "variants/codec/codecs.hpp"

namespace kvmeter::attention {

template <class Exec>
struct ManyScores {
  using S = Shape<Exec>;
  using P = Pack<S::width>;
  static constexpr int rows = 4;  // with 2 packs: 8 registers of sums and 8 of their totals

  /// tile[c][column + t] = K[t][c] for the rows t of a run; channels past head_dim are zero.
  template <class Codec, class Team>
  KOKKOS_INLINE_FUNCTION static void decode(const Team& team, const LayerCache& cache,
                                            const Run& run, const Scratch<Exec>& s,
                                            std::int32_t column) {
    const std::int32_t channels = padded_channels(cache);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, run.n_rows), [&](std::int32_t t) {
      const std::byte* row = run.k + std::int64_t{t} * cache.k_row_bytes;
      float* out = s.tile + column + t;
      for (std::int32_t c = 0; c < channels; c += P::width) {
        float part[P::width];
        codec::load_padded<Codec, P::width>(row, c, cache.k_format()).store(part);
        for (int i = 0; i < P::width; ++i) out[(c + i) * S::tile_tokens] = part[i];
      }
    });
  }

  /// scores[m][t] = q[m] . K[t] for columns t of the tile, padded to whole packs; what is in
  /// columns that were not decoded is of no use.
  template <class Team>
  KOKKOS_INLINE_FUNCTION static void multiply(const Team& team, const LayerCache& cache,
                                              std::int32_t n_columns, const Scratch<Exec>& s,
                                              float* scores) {
    const std::int32_t channels = padded_channels(cache);
    const std::int32_t pairs = (n_columns + Scratch<Exec>::pair - 1) / Scratch<Exec>::pair;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, pairs * (s.rows / rows)),
                         [&](std::int32_t block) {
                           const std::int32_t t = block % pairs * Scratch<Exec>::pair;
                           const std::int32_t m = block / pairs * rows;
                           score_block(s.q + m * s.channels, s.channels, s.tile + t, channels,
                                       scores + m * s.score_stride + t, s.score_stride);
                         });
  }

 private:
  KOKKOS_INLINE_FUNCTION static std::int32_t padded_channels(const LayerCache& cache) {
    return (cache.head_dim + P::width - 1) / P::width * P::width;
  }

  /// Channels c, c + width, c + 2 width, ... first, then the sums of these over c.
  KOKKOS_INLINE_FUNCTION static void score_block(const float* q, std::int32_t q_stride,
                                                 const float* k, std::int32_t channels,
                                                 float* scores, std::int32_t stride) {
    P total[rows][2];
    for (int lane = 0; lane < P::width; ++lane) {
      P sum[rows][2];
      for (auto& row : sum) row[0] = row[1] = P::splat(0);
      for (std::int32_t c = lane; c < channels; c += P::width) {
        const P k0 = P::load(k + c * S::tile_tokens);
        const P k1 = P::load(k + c * S::tile_tokens + P::width);
        for (int r = 0; r < rows; ++r) {
          const P x = P::splat(q[r * q_stride + c]);
          sum[r][0] = sum[r][0] + x * k0;
          sum[r][1] = sum[r][1] + x * k1;
        }
      }
      for (int r = 0; r < rows; ++r)
        for (int i = 0; i < 2; ++i) total[r][i] = lane == 0 ? sum[r][i] : total[r][i] + sum[r][i];
    }
    for (int r = 0; r < rows; ++r)
      for (int i = 0; i < 2; ++i) total[r][i].store(scores + r * stride + i * P::width);
  }
};

template <class Exec>
struct ManySums {
  using S = Shape<Exec>;
  using P = Pack<S::width>;

  /// tile[column + t][c] = V[t][c] for the rows t of a run; channels past head_dim are zero.
  template <class Codec, class Team>
  KOKKOS_INLINE_FUNCTION static void decode(const Team& team, const LayerCache& cache,
                                            const Run& run, const Scratch<Exec>& s,
                                            std::int32_t column) {
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, run.n_rows), [&](std::int32_t t) {
      const std::byte* row = run.v + std::int64_t{t} * cache.v_row_bytes;
      for (std::int32_t c = 0; c < s.channels; c += P::width)
        codec::load_padded<Codec, P::width>(row, c, cache.v_format())
            .store(s.tile + (column + t) * s.channels + c);
    });
  }

  /// out[m] = scale[m] out[m] + sum_t p[m][t] V[t] over columns [begin, end) of the tile; without
  /// the scale unless `rescale`.
  template <class Team>
  KOKKOS_INLINE_FUNCTION static void multiply(const Team& team, std::int32_t begin,
                                              std::int32_t end, const Scratch<Exec>& s,
                                              const float* weights, bool rescale) {
    const std::int32_t pairs = s.channels / Scratch<Exec>::pair;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, pairs * (s.rows / S::row_block)),
                         [&](std::int32_t block) {
                           const std::int32_t c = block % pairs * Scratch<Exec>::pair;
                           const std::int32_t m = block / pairs * S::row_block;
                           sum_block(s, m, c, weights + m * s.score_stride, begin, end, rescale);
                         });
  }

 private:
  KOKKOS_INLINE_FUNCTION static void sum_block(const Scratch<Exec>& s, std::int32_t m,
                                               std::int32_t c, const float* weights,
                                               std::int32_t begin, std::int32_t end, bool rescale) {
    P sum[S::row_block][2];
    float* out = s.out + m * s.channels + c;
    for (int r = 0; r < S::row_block; ++r) {
      const P scale = P::splat(rescale ? s.scale[m + r] : 1.0F);
      sum[r][0] = scale * P::load(out + r * s.channels);
      sum[r][1] = scale * P::load(out + r * s.channels + P::width);
    }
    for (std::int32_t t = begin; t < end; ++t) {
      const P v0 = P::load(s.tile + t * s.channels + c);
      const P v1 = P::load(s.tile + t * s.channels + c + P::width);
      for (int r = 0; r < S::row_block; ++r) {
        const P x = P::splat(weights[r * s.score_stride + t]);
        sum[r][0] = sum[r][0] + x * v0;
        sum[r][1] = sum[r][1] + x * v1;
      }
    }
    for (int r = 0; r < S::row_block; ++r) {
      sum[r][0].store(out + r * s.channels);
      sum[r][1].store(out + r * s.channels + P::width);
    }
  }
};

}  // namespace kvmeter::attention

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Scores and weighted sums for few rows (decode): K and V are used as they are decoded, each
// element once for all rows of a block, and never written to scratch.
#pragma once

#include "variants/attention/scratch.hpp"
#include "variants/codec/codecs.hpp"

namespace kvmeter::attention {

inline constexpr int few_rows_block = 4;

/// scores[m][t] = q[m] . K[t] for the rows t of a run; a lane takes a pack of them. The order of a
/// dot product is that of tiles.hpp.
template <class Exec>
struct FewScores {
  using P = Pack<Shape<Exec>::width>;

  /// \param scores of the run's first row
  template <class Codec, class Team>
  KOKKOS_INLINE_FUNCTION static void run(const Team& team, const LayerCache& cache, const Run& run,
                                         std::int32_t n_rows, const Scratch<Exec>& s,
                                         float* scores) {
    const std::int32_t n_packs = (run.n_rows + P::width - 1) / P::width;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, n_packs), [&](std::int32_t pack) {
      const std::int32_t t = pack * P::width;
      const std::int32_t left = run.n_rows - t;
      const std::int32_t n = left < P::width ? left : P::width;
      const std::byte* k = run.k + std::int64_t{t} * cache.k_row_bytes;
      for (std::int32_t m = 0; m < n_rows; m += few_rows_block)
        score_block<Codec>(cache, k, n, s.q + m * s.channels, s.channels,
                           scores + m * s.score_stride + t, s.score_stride);
    });
  }

 private:
  /// A block of rows against n keys, up to a pack of them.
  template <class Codec>
  KOKKOS_INLINE_FUNCTION static void score_block(const LayerCache& cache, const std::byte* k,
                                                 std::int32_t n, const float* q,
                                                 std::int32_t channels, float* scores,
                                                 std::int32_t stride) {
    float partial[few_rows_block][P::width * P::width];  // [row][key, channel modulo width]
    for (std::int32_t i = 0; i < n; ++i, k += cache.k_row_bytes) {
      P sum[few_rows_block];
      for (P& x : sum) x = P::splat(0);
      for (std::int32_t c = 0; c < cache.head_dim; c += P::width) {
        const P x = codec::load_padded<Codec, P::width>(k, c, cache.k_format());
        for (int r = 0; r < few_rows_block; ++r)
          sum[r] = sum[r] + x * P::load(q + r * channels + c);
      }
      for (int r = 0; r < few_rows_block; ++r) sum[r].store(partial[r] + i * P::width);
    }
    for (std::int32_t i = n; i < P::width; ++i)  // keys that are not there
      for (auto& row : partial) P::splat(0).store(row + i * P::width);
    for (int r = 0; r < few_rows_block; ++r) {
      float sums[P::width];
      P::sums_of(partial[r]).store(sums);
      for (std::int32_t i = 0; i < n; ++i) scores[r * stride + i] = sums[i];
    }
  }
};

/// out[m] += sum_t p[m][t] V[t] over the rows t of a run, in their order; a lane takes a pack of
/// channels. What was summed before is multiplied by scale[m] first where `rescale` says so.
template <class Exec>
struct FewSums {
  using P = Pack<Shape<Exec>::width>;

  /// \param weights of the run's first row
  template <class Codec, class Team>
  KOKKOS_INLINE_FUNCTION static void run(const Team& team, const LayerCache& cache, const Run& run,
                                         std::int32_t n_rows, const Scratch<Exec>& s,
                                         const float* weights, bool rescale) {
    const std::int32_t head_dim = cache.head_dim;
    const std::int32_t n_packs = (head_dim + P::width - 1) / P::width;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, n_packs), [&](std::int32_t pack) {
      const std::int32_t c = pack * P::width;
      for (std::int32_t m = 0; m < n_rows; m += few_rows_block) {
        P sum[few_rows_block];
        float* out = s.out + m * s.channels + c;
        for (int r = 0; r < few_rows_block; ++r) {
          sum[r] = P::load(out + r * s.channels);
          if (rescale) sum[r] = P::splat(s.scale[m + r]) * sum[r];
        }
        const std::byte* row = run.v;
        for (std::int32_t t = 0; t < run.n_rows; ++t, row += cache.v_row_bytes) {
          const P v = codec::load_padded<Codec, P::width>(row, c, cache.v_format());
          for (int r = 0; r < few_rows_block; ++r)
            sum[r] = sum[r] + v * P::splat(weights[(m + r) * s.score_stride + t]);
        }
        for (int r = 0; r < few_rows_block; ++r) sum[r].store(out + r * s.channels);
      }
    });
  }
};

}  // namespace kvmeter::attention

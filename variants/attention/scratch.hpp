// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The small matrices of a team, row-major in its scratch memory. Rows are padded to register blocks
// and channels to packs, and the padding is zero, so that no inner loop has a tail.
#pragma once

#include <cstddef>

#include "variants/attention/work.hpp"

namespace kvmeter::attention {

template <class Exec>
struct Scratch {
  using S = Shape<Exec>;
  static constexpr int pair = 2 * S::width;  // channels of a register block

  float* q;        // [rows, channels], scaled
  float* out;      // [rows, channels]
  float* scores;   // [rows, score_stride]
  float* tile;     // K transposed [channels, tile_tokens], then V [tile_tokens, channels]
  float* highest;  // [rows] running maximum
  float* sum;      // [rows] running sum of exponentials
  float* scale;    // [rows] what the output so far is multiplied by
  float* extra;    // what the algorithm asks for besides
  std::int32_t rows;
  std::int32_t channels;
  std::int32_t score_stride;

  KOKKOS_INLINE_FUNCTION static std::int32_t round_up(std::int32_t n, std::int32_t to) {
    return (n + to - 1) / to * to;
  }
  KOKKOS_INLINE_FUNCTION static std::int32_t padded_rows(std::int32_t n_rows) {
    return round_up(n_rows, S::row_block);
  }
  KOKKOS_INLINE_FUNCTION static std::int32_t padded_channels(std::int32_t head_dim) {
    return round_up(head_dim, pair);
  }

  /// Floats in fast scratch, scores apart.
  KOKKOS_INLINE_FUNCTION static std::size_t fast_floats(std::int32_t n_rows,
                                                        std::int32_t head_dim) {
    const auto rows = static_cast<std::size_t>(padded_rows(n_rows));
    const auto channels = static_cast<std::size_t>(padded_channels(head_dim));
    return 2 * rows * channels + channels * S::tile_tokens + 3 * rows;
  }
  /// Floats of the score matrix with score_stride columns.
  KOKKOS_INLINE_FUNCTION static std::size_t score_floats(std::int32_t n_rows,
                                                         std::int32_t score_stride) {
    return static_cast<std::size_t>(padded_rows(n_rows)) * static_cast<std::size_t>(score_stride);
  }

  KOKKOS_INLINE_FUNCTION Scratch(float* fast, float* score_memory, std::int32_t n_rows,
                                 std::int32_t head_dim, std::int32_t stride)
      : scores(score_memory),
        rows(padded_rows(n_rows)),
        channels(padded_channels(head_dim)),
        score_stride(stride) {
    q = fast;
    out = q + rows * channels;
    tile = out + rows * channels;
    highest = tile + channels * S::tile_tokens;
    sum = highest + rows;
    scale = sum + rows;
    extra = scale + rows;
  }
};

/// Nothing attended to yet: row m of the output zero.
template <class Exec>
KOKKOS_INLINE_FUNCTION void clear_row(const Scratch<Exec>& s, std::int32_t m) {
  float* out = s.out + m * s.channels;
  for (std::int32_t c = 0; c < s.channels; ++c) out[c] = 0;
  s.highest[m] = -Kokkos::Experimental::infinity_v<float>;
  s.sum[m] = 0;
  s.scale[m] = 1;
}

/// Loads the queries of the work, scaled, and zeroes the padding and the output.
template <class Exec, class Team>
KOKKOS_INLINE_FUNCTION void load_queries(const Team& team, const Arguments<Exec>& a, const Work& w,
                                         const Scratch<Exec>& s) {
  const std::int32_t head_dim = a.cache.head_dim;
  Kokkos::parallel_for(Kokkos::TeamVectorRange(team, s.rows), [&](std::int32_t m) {
    float* q = s.q + m * s.channels;
    for (std::int32_t c = 0; c < s.channels; ++c) q[c] = 0;
    clear_row(s, m);
    if (m >= w.n_rows) return;
    const std::int32_t row = w.tile.first_row + m / w.n_heads;
    const std::int32_t column = (w.first_head + m % w.n_heads) * head_dim;
    for (std::int32_t c = 0; c < head_dim; ++c) q[c] = a.scale * a.q(row, column + c);
  });
  team.team_barrier();
}

/// Divides by the sums and writes the output rows; zeros where a row saw no key.
template <class Exec, class Team>
KOKKOS_INLINE_FUNCTION void store_output(const Team& team, const Arguments<Exec>& a, const Work& w,
                                         const Scratch<Exec>& s) {
  team.team_barrier();
  const std::int32_t head_dim = a.cache.head_dim;
  Kokkos::parallel_for(Kokkos::TeamVectorRange(team, w.n_rows), [&](std::int32_t m) {
    const std::int32_t row = w.tile.first_row + m / w.n_heads;
    const std::int32_t column = (w.first_head + m % w.n_heads) * head_dim;
    const float inverse = s.sum[m] == 0 ? 0.0F : 1.0F / s.sum[m];
    for (std::int32_t c = 0; c < head_dim; ++c)
      a.out(row, column + c) = s.out[m * s.channels + c] * inverse;
  });
}

}  // namespace kvmeter::attention

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The linear layer for few rows: bound by reading the weights, so that they are read once, in long
// streams, and all rows of x use what was read.
#pragma once

#include "harness/exec/pack.hpp"
#include "harness/ops/matmul.hpp"

namespace kvmeter::ops {

/// Output columns block, block + n_blocks, block + 2 n_blocks, ... for all rows of x: each thread
/// streams out_block far-apart parts of the weights, every one of them contiguous from block to
/// block. Tried on 2.1 GB of bf16 weights and 2 threads, reading at 30 GB/s at best: neighbouring
/// rows 23 GB/s, with prefetching 26; far rows 25, with prefetching 1 KiB ahead 30, 4 KiB ahead 28;
/// 8 far rows 27. E is the element of the weights.
template <class Exec, class E>
struct FewRowsKernel {
  using MemorySpace = typename Exec::memory_space;
  using P = Pack<pack_width<Exec>>;
  static constexpr int out_block = 4;       // weight rows streamed side by side
  static constexpr int bytes_ahead = 1024;  // of what is read, to be prefetched

  ConstArray2<E, MemorySpace> w;
  LinearArguments<MemorySpace> a;

  KOKKOS_INLINE_FUNCTION void operator()(std::int32_t block) const {
    const auto n_rows = static_cast<std::int32_t>(a.x.extent(0));
    std::int32_t row = 0;
    for (; row + 4 <= n_rows; row += 4) part<4>(block, row);
    if (row + 2 <= n_rows) {
      part<2>(block, row);
      row += 2;
    }
    if (row < n_rows) part<1>(block, row);
  }

 private:
  KOKKOS_INLINE_FUNCTION static void prefetch(const E* p) {
    KOKKOS_IF_ON_HOST((__builtin_prefetch(p + bytes_ahead / sizeof(E), 0, 3);))
    (void)p;
  }

  /// Rows of x row .. row + Rows - 1 against the weight rows of a block.
  template <int Rows>
  KOKKOS_INLINE_FUNCTION void part(std::int32_t block, std::int32_t row) const {
    const auto out_dim = static_cast<std::int32_t>(w.extent(0));
    const auto in_dim = static_cast<std::int32_t>(w.extent(1));
    const std::int32_t n_blocks = (out_dim + out_block - 1) / out_block;
    const E* weights[out_block];
    for (int o = 0; o < out_block; ++o) {  // the last blocks may lack rows and repeat the last one
      const std::int32_t column = block + o * n_blocks;
      weights[o] = &w(column < out_dim ? column : out_dim - 1, 0);
    }
    float sums[Rows][out_block];
    const std::int32_t whole = in_dim / P::width * P::width;
    multiply(weights, row, whole, sums);
    for (int r = 0; r < Rows; ++r) {
      for (int o = 0; o < out_block && block + o * n_blocks < out_dim; ++o) {
        float sum = sums[r][o];
        for (std::int32_t i = whole; i < in_dim; ++i)
          sum += static_cast<float>(weights[o][i]) * a.x(row + r, i);
        store(row + r, block + o * n_blocks, sum);
      }
    }
  }

  KOKKOS_INLINE_FUNCTION void store(std::int32_t row, std::int32_t column, float sum) const {
    if (a.bias.extent(0) > 0) sum += a.bias(column);
    float& out = a.out(row, column);
    out = a.accumulate ? out + sum : sum;
  }

  template <int Rows>
  KOKKOS_INLINE_FUNCTION void multiply(const E* const (&weights)[out_block], std::int32_t row,
                                       std::int32_t n, float (&sums)[Rows][out_block]) const {
    P acc[Rows][out_block];
    for (auto& of_row : acc)
      for (P& sum : of_row) sum = P::splat(0);
    const float* x = &a.x(row, 0);
    const auto stride = static_cast<std::int64_t>(a.x.stride(0));
    for (std::int32_t i = 0; i < n; i += P::width) {
      P packs[out_block];
      for (int o = 0; o < out_block; ++o) {
        packs[o] = P::load(weights[o] + i);
        prefetch(weights[o] + i);
      }
      for (int r = 0; r < Rows; ++r) {
        const P value = P::load(x + r * stride + i);
        for (int o = 0; o < out_block; ++o) acc[r][o] = acc[r][o] + packs[o] * value;
      }
    }
    for (int r = 0; r < Rows; ++r)
      for (int o = 0; o < out_block; ++o) sums[r][o] = acc[r][o].sum();
  }
};

template <class Exec>
void few_rows(const Exec& exec, const LinearArguments<typename Exec::memory_space>& a) {
  visit_element(a.w.element, [&](auto tag) {
    using E = typename decltype(tag)::type;
    using Kernel = FewRowsKernel<Exec, E>;
    const auto blocks =
        static_cast<std::int32_t>((a.w.out_dim + Kernel::out_block - 1) / Kernel::out_block);
    const Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int32_t>> policy(exec, 0, blocks);
    Kokkos::parallel_for("kvmeter::ops::few_rows", policy, Kernel{a.w.template view<E>(), a});
  });
}

}  // namespace kvmeter::ops

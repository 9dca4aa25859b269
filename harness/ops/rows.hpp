// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The small kernels on rows of activations: one per row or element, bound by memory. Matrices are
// [n_rows, columns], float, row-major.
#pragma once

#include "harness/core/cost.hpp"
#include "harness/exec/views.hpp"
#include "harness/ops/weight_matrix.hpp"

namespace kvmeter::ops {

template <class MemorySpace>
using Rows = Array2<float, MemorySpace>;

/// x[r] = embedding[tokens[r]] (+ positions_table[positions[r]] where that has rows).
template <class Exec>
void embed(const Exec& exec, const ConstArray1<std::int32_t, typename Exec::memory_space>& tokens,
           const ConstArray1<std::int32_t, typename Exec::memory_space>& positions,
           const WeightMatrix<typename Exec::memory_space>& embedding,
           const WeightMatrix<typename Exec::memory_space>& positions_table,
           const Rows<typename Exec::memory_space>& x);

enum class NormKind { rms, layer };

/// rms: out[r] = x[r] / sqrt(mean(x[r]^2) + epsilon) * scale
/// layer: out[r] = (x[r] - mean) / sqrt(variance + epsilon) * scale + shift
/// Sums are in double, so that the result does not depend on the order of a pack.
template <class Exec>
void normalize(const Exec& exec, NormKind kind, double epsilon,
               const Rows<typename Exec::memory_space>& x,
               const Array1<float, typename Exec::memory_space>& scale,
               const Array1<float, typename Exec::memory_space>& shift,
               const Rows<typename Exec::memory_space>& out);

/// out[i] = x[rows[i]].
template <class Exec>
void gather(const Exec& exec, const Rows<typename Exec::memory_space>& x,
            const ConstArray1<std::int32_t, typename Exec::memory_space>& rows,
            const Rows<typename Exec::memory_space>& out);

/// swiglu: out[r][i] = silu(up[r][i]) * up[r][ffn_dim + i], with up [n_rows, 2 ffn_dim], gate
/// columns first.
template <class Exec>
void swiglu(const Exec& exec, const Rows<typename Exec::memory_space>& up,
            const Rows<typename Exec::memory_space>& out);

/// gelu in its tanh form: out = 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
/// D. Hendrycks, K. Gimpel, "Gaussian error linear units", 2016.
template <class Exec>
void gelu_tanh(const Exec& exec, const Rows<typename Exec::memory_space>& x,
               const Rows<typename Exec::memory_space>& out);

/// What a kernel of n_rows rows must read and write.
inline Cost row_cost(std::int64_t n_rows, std::int64_t columns_read, std::int64_t columns_written) {
  return {4 * n_rows * columns_read, 4 * n_rows * columns_written, 0};
}

}  // namespace kvmeter::ops

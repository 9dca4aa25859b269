// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Linear layers: out[r][o] (+)= sum_i x[r][i] w[o][i] + bias[o], with weights row-major [out_dim,
// in_dim] as they are held. Few rows stream the weights once through a kernel of our own; many rows
// go to oneDNN on the host; on CUDA both go to cuBLASLt. Which one ran is told by name.
#pragma once

#include <memory>
#include <string_view>

#include "harness/core/cost.hpp"
#include "harness/exec/views.hpp"
#include "harness/ops/weight_matrix.hpp"

namespace kvmeter::ops {

template <class MemorySpace>
struct LinearArguments {
  Array2<float, MemorySpace> x;     // [n_rows, in_dim]
  WeightMatrix<MemorySpace> w;      // [out_dim, in_dim]
  Array1<float, MemorySpace> bias;  // [out_dim] or empty
  Array2<float, MemorySpace> out;   // [n_rows, out_dim]
  bool accumulate = false;          // add to out
};

/// Up to this many rows the weights are streamed by the few-rows kernel.
inline constexpr std::int64_t most_few_rows = 16;

/// Rows to give a matmul in place of n_rows where the matrices have room for them: libraries build
/// a kernel per row count, and without a cache every step has another. The rows past n_rows may
/// hold anything.
constexpr std::int64_t padded_rows(std::int64_t n_rows) {
  return n_rows <= most_few_rows ? n_rows : (n_rows + 15) / 16 * 16;
}

/// Can activations of this width be multiplied in 16 bit? oneDNN 2.6 on AMX ends in an illegal
/// instruction where it is odd; no model known has such a width.
constexpr bool can_round(std::int64_t in_dim) {
  return in_dim % 2 == 0;
}

/// Sizes that a Matmul prepares its working memory for.
struct MatmulLimits {
  std::int64_t most_rows = 1;
  std::int64_t most_in_dim = 0;
  Element element = Element::f32;
  bool round_activations = true;  // to the weights' element, where that is faster; needs can_round
};

/// Weights as they are held, sums in f32. Where products of 16-bit operands are faster (AMX and AMD
/// for bf16, CUDA) activations are rounded to the weights' element, unless the limits forbid it (on
/// the host); elsewhere many rows meet weights that are unpacked to f32, panel by panel.
template <class Exec>
class Matmul {
 public:
  Matmul(const Exec& exec, const MatmulLimits& limits);
  ~Matmul();
  Matmul(Matmul&&) noexcept;
  Matmul& operator=(Matmul&&) noexcept;

  void operator()(const Exec& exec, const LinearArguments<typename Exec::memory_space>& arguments);

  /// Name of what runs for this many rows: "kvmeter few rows", "oneDNN f32 on bf16 panels", ...
  [[nodiscard]] static std::string_view path(std::int64_t n_rows, Element element);

  /// Are activations rounded to the weights' element on the way, where the limits allow it?
  [[nodiscard]] static bool rounds_activations(std::int64_t n_rows, Element element);

  /// Bytes of working memory for these limits.
  [[nodiscard]] static std::int64_t workspace_bytes(const MatmulLimits& limits);

 private:
  struct State;
  std::unique_ptr<State> m_state;
};

inline Cost linear_cost(std::int64_t n_rows, std::int64_t in_dim, std::int64_t out_dim,
                        Element element) {
  return {out_dim * in_dim * bytes_of(element) + 4 * n_rows * in_dim, 4 * n_rows * out_dim,
          2 * n_rows * in_dim * out_dim};
}

}  // namespace kvmeter::ops

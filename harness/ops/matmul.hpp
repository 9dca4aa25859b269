// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Linear layers: out[r][o] (+)= sum_i x[r][i] w[o][i] + bias[o], with weights row-major [out_dim, in_dim] as they
// are held. Few rows stream the weights once through a kernel of our own; many rows go to oneDNN on the host;
// on CUDA both go to cuBLASLt. Which one ran is told by name.
#pragma once

#include <memory>
#include <string_view>

#include "harness/core/cost.hpp"
#include "harness/exec/views.hpp"
#include "harness/ops/weight_matrix.hpp"

namespace kvmeter::ops {

template <class MemorySpace>
struct LinearArguments {
  Array2<float, MemorySpace> x;    // [n_rows, in_dim]
  WeightMatrix<MemorySpace> w;     // [out_dim, in_dim]
  Array1<float, MemorySpace> bias; // [out_dim] or empty
  Array2<float, MemorySpace> out;  // [n_rows, out_dim]
  bool accumulate = false;         // add to out
};

/// Up to this many rows the weights are streamed by the few-rows kernel.
inline constexpr std::int64_t most_few_rows = 16;

/// Sizes that a Matmul prepares its working memory for.
struct MatmulLimits {
  std::int64_t most_rows = 1;
  std::int64_t most_in_dim = 0;
  Element element = Element::f32;
};

/// Weights as they are, activations rounded to the weights' element where many rows of 16-bit weights meet (that is
/// what the matrix units take); sums in f32. f16 weights are unpacked to f32 panel by panel on the host.
template <class Exec>
class Matmul {
 public:
  Matmul(const Exec& exec, const MatmulLimits& limits);
  ~Matmul();
  Matmul(Matmul&&) noexcept;
  Matmul& operator=(Matmul&&) noexcept;

  void operator()(const Exec& exec, const LinearArguments<typename Exec::memory_space>& arguments);

  /// Name of what runs for this many rows: "kvmeter few rows", "oneDNN bf16", "cuBLASLt bf16", ...
  [[nodiscard]] static std::string_view path(std::int64_t n_rows, Element element);

  /// Bytes of working memory for these limits.
  [[nodiscard]] static std::int64_t workspace_bytes(const MatmulLimits& limits);

 private:
  struct State;
  std::unique_ptr<State> m_state;
};

inline Cost linear_cost(std::int64_t n_rows, std::int64_t in_dim, std::int64_t out_dim, Element element) {
  return {out_dim * in_dim * bytes_of(element) + 4 * n_rows * in_dim, 4 * n_rows * out_dim,
          2 * n_rows * in_dim * out_dim};
}

}  // namespace kvmeter::ops

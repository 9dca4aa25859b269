// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// cuBLASLt's matrix product on row-major weights. Device pointers; compiled without Kokkos, in CUDA
// builds only.
#pragma once

#include <cstdint>
#include <memory>

#include "harness/core/enums.hpp"

namespace kvmeter::ops::detail {

struct CublasProduct {
  Element element = Element::f32;  // of x and w
  std::int64_t n_rows = 0;
  std::int64_t in_dim = 0;
  std::int64_t out_dim = 0;
  bool has_bias = false;
  bool accumulate = false;
  auto operator<=>(const CublasProduct&) const = default;
};

class CublasLtMatmul {
 public:
  CublasLtMatmul();
  ~CublasLtMatmul();

  /// out[r][o] (+)= sum_i x[r][i] w[o][i] + bias[o], sums in f32, asynchronous on the stream.
  /// \param stream a cudaStream_t \param workspace workspace_bytes() of device memory
  void run(const CublasProduct& product, const void* x, const void* w, const float* bias,
           float* out, void* workspace, void* stream);

  static constexpr std::int64_t workspace_bytes() { return 32 << 20; }

 private:
  struct State;
  std::unique_ptr<State> m_state;
};

}  // namespace kvmeter::ops::detail

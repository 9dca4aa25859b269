// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// oneDNN's matrix product on row-major weights, with its primitives kept. Host pointers only: this
// is compiled without Kokkos. Threads are OpenMP's current maximum.
#pragma once

#include <cstdint>
#include <memory>

#include "harness/core/enums.hpp"

namespace kvmeter::ops::detail {

struct DnnlProduct {
  Element element = Element::f32;  // of x and w: f32 or bf16
  std::int64_t n_rows = 0;
  std::int64_t in_dim = 0;
  std::int64_t out_dim = 0;
  std::int64_t out_stride = 0;  // floats between rows of out
  bool has_bias = false;
  bool accumulate = false;
  auto operator<=>(const DnnlProduct&) const = default;
};

/// Does this processor multiply bf16 faster than f32? With AMX it does. With AVX512_BF16 alone it
/// depends on how often vdpbf16ps issues: on AMD (Zen 4 and later) as often as a multiply-add of
/// floats, so that bf16 runs at twice the rate (seen: 430 GFLOP/s beside 218 on 2 cores); on Intel
/// every other cycle and on one port, at half the rate of f32, so that unpacking to f32 is faster
/// and rounds no activation.
bool fast_bf16();

class DnnlMatmul {
 public:
  DnnlMatmul();
  ~DnnlMatmul();

  /// out[r][o] (+)= sum_i x[r][i] w[o][i] + bias[o]
  /// \param x [n_rows, in_dim] \param w [out_dim, in_dim] \param bias [out_dim] f32 or null
  void run(const DnnlProduct& product, const void* x, const void* w, const float* bias, float* out);

 private:
  struct State;
  std::unique_ptr<State> m_state;
};

}  // namespace kvmeter::ops::detail

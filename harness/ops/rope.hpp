// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding (J. Su et al., "RoFormer", 2021) in the half-split layout of Hugging
// Face checkpoints: channel i of a head turns with channel i + head_dim / 2. Applied to q and k in
// place, with the RMS norm of each head before it where a model has one.
#pragma once

#include <span>
#include <vector>

#include "harness/core/cost.hpp"
#include "harness/exec/views.hpp"

namespace kvmeter::ops {

/// cos and sin of position x frequency, computed in double.
template <class MemorySpace>
struct RopeTable {
  Array2<float, MemorySpace> cos;  // [positions, head_dim / 2]
  Array2<float, MemorySpace> sin;
};

/// \param frequencies [head_dim / 2] radians per position
template <class Exec>
RopeTable<typename Exec::memory_space> make_rope_table(const Exec& exec,
                                                       std::span<const double> frequencies,
                                                       std::int64_t n_positions);

template <class MemorySpace>
struct RotateArguments {
  Array2<float, MemorySpace> qkv;  // [n_rows, (n_heads + 2 n_kv_heads) * head_dim], in place
  std::int32_t n_heads = 0;        // of q and k together: v is left alone
  std::int32_t n_q_heads = 0;
  std::int32_t head_dim = 0;
  ConstArray1<std::int32_t, MemorySpace> positions;  // [n_rows]
  RopeTable<MemorySpace> table;                      // no positions: no rotation
  Array1<float, MemorySpace> q_norm;                 // [head_dim] or empty
  Array1<float, MemorySpace> k_norm;
  double norm_epsilon = 0;
};

template <class Exec>
void rotate(const Exec& exec, const RotateArguments<typename Exec::memory_space>& arguments);

}  // namespace kvmeter::ops

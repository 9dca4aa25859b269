// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Weights back on the host, as floats, and what they take.
#pragma once

#include <cstring>
#include <vector>

#include "harness/model/weights.hpp"

namespace kvmeter::test {

template <class MemorySpace>
std::vector<float> values_of(const WeightVector<MemorySpace>& vector) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, vector);
  return {host.data(), host.data() + host.size()};
}

/// Row-major values of a matrix.
template <class MemorySpace>
std::vector<float> values_of(const WeightMatrix<MemorySpace>& matrix) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, matrix.storage);
  std::vector<float> values(static_cast<std::size_t>(matrix.out_dim * matrix.in_dim));
  visit_element(matrix.element, [&]<class T>(ElementTag<T>) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      T value;
      std::memcpy(&value, host.data() + i * sizeof(T), sizeof(T));
      values[i] = static_cast<float>(value);
    }
  });
  return values;
}

/// Bytes of all Views, a shared one once.
template <class MemorySpace>
std::int64_t allocated_bytes(const ModelWeights<MemorySpace>& weights) {
  std::size_t bytes = 0;
  // Not loops over braced lists: nvcc 13 hands those of templates on to g++ without their braces.
  const auto add_vectors = [&](const auto&... vectors) {
    bytes += (vectors.size() + ...) * sizeof(float);
  };
  const auto add_matrices = [&](const auto&... matrices) {
    bytes += (matrices.storage.size() + ...);
  };
  add_matrices(weights.embedding, weights.position_embedding);
  if (weights.head.storage.data() != weights.embedding.storage.data()) add_matrices(weights.head);
  add_vectors(weights.final_norm, weights.final_norm_bias);
  for (const auto& l : weights.layers) {
    add_matrices(l.qkv, l.out, l.up, l.down);
    add_vectors(l.attention_norm, l.attention_norm_bias, l.qkv_bias, l.q_norm, l.k_norm, l.out_bias,
                l.mlp_norm, l.mlp_norm_bias, l.up_bias, l.down_bias);
  }
  return static_cast<std::int64_t>(bytes);
}

}  // namespace kvmeter::test

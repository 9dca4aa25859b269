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
  const auto add_vector = [&](const WeightVector<MemorySpace>& vector) {
    bytes += vector.size() * sizeof(float);
  };
  const auto add_matrix = [&](const WeightMatrix<MemorySpace>& matrix) {
    bytes += matrix.storage.size();
  };
  add_matrix(weights.embedding);
  add_matrix(weights.position_embedding);
  if (weights.head.storage.data() != weights.embedding.storage.data()) add_matrix(weights.head);
  add_vector(weights.final_norm);
  add_vector(weights.final_norm_bias);
  for (const auto& l : weights.layers) {
    for (const auto& matrix : {l.qkv, l.out, l.up, l.down}) add_matrix(matrix);
    for (const auto& vector :
         {l.attention_norm, l.attention_norm_bias, l.qkv_bias, l.q_norm, l.k_norm, l.out_bias,
          l.mlp_norm, l.mlp_norm_bias, l.up_bias, l.down_bias})
      add_vector(vector);
  }
  return static_cast<std::int64_t>(bytes);
}

}  // namespace kvmeter::test

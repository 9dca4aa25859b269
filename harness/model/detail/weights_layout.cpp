// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/detail/weights_layout.hpp"

#include <utility>

#include "harness/core/error.hpp"
#include "harness/exec/spaces.hpp"

namespace kvmeter::detail {
namespace {

template <class MemorySpace>
LayerWeights<MemorySpace>& layer_of(ModelWeights<MemorySpace>& weights, const ModelTensor& tensor) {
  KVMETER_EXPECTS(tensor.layer >= 0, "tensor {} belongs to no layer", tensor.name);
  return weights.layers[static_cast<std::size_t>(tensor.layer)];
}

/// The name of the place for labels, e.g. "kvmeter::weights::qkv".
const char* label_of(Role role) {
  switch (role) {
    case Role::embedding:
      return "kvmeter::weights::embedding";
    case Role::position_embedding:
      return "kvmeter::weights::position_embedding";
    case Role::head:
      return "kvmeter::weights::head";
    case Role::q:
      return "kvmeter::weights::qkv";
    case Role::out:
      return "kvmeter::weights::out";
    case Role::gate:
    case Role::up:
      return "kvmeter::weights::up";
    case Role::down:
      return "kvmeter::weights::down";
    default:
      return kind_of(role) == TensorKind::norm ? "kvmeter::weights::norm"
                                               : "kvmeter::weights::bias";
  }
}

/// The vector that holds this norm or bias.
template <class MemorySpace>
WeightVector<MemorySpace>& vector_of(ModelWeights<MemorySpace>& weights,
                                     const ModelTensor& tensor) {
  if (tensor.role == Role::final_norm) return weights.final_norm;
  if (tensor.role == Role::final_norm_bias) return weights.final_norm_bias;
  LayerWeights<MemorySpace>& layer = layer_of(weights, tensor);
  switch (tensor.role) {
    case Role::attention_norm:
      return layer.attention_norm;
    case Role::attention_norm_bias:
      return layer.attention_norm_bias;
    case Role::q_bias:
    case Role::k_bias:
    case Role::v_bias:
      return layer.qkv_bias;
    case Role::q_norm:
      return layer.q_norm;
    case Role::k_norm:
      return layer.k_norm;
    case Role::out_bias:
      return layer.out_bias;
    case Role::mlp_norm:
      return layer.mlp_norm;
    case Role::mlp_norm_bias:
      return layer.mlp_norm_bias;
    case Role::gate_bias:
    case Role::up_bias:
      return layer.up_bias;
    case Role::down_bias:
      return layer.down_bias;
    default:
      fail("tensor {} is no norm or bias", tensor.name);
  }
}

}  // namespace

template <class Exec>
WeightMatrix<typename Exec::memory_space>& matrix_of(
    ModelWeights<typename Exec::memory_space>& weights, const ModelTensor& tensor) {
  switch (tensor.role) {
    case Role::embedding:
      return weights.embedding;
    case Role::position_embedding:
      return weights.position_embedding;
    case Role::head:
      return weights.head;
    case Role::q:
    case Role::k:
    case Role::v:
      return layer_of(weights, tensor).qkv;
    case Role::out:
      return layer_of(weights, tensor).out;
    case Role::gate:
    case Role::up:
      return layer_of(weights, tensor).up;
    case Role::down:
      return layer_of(weights, tensor).down;
    default:
      fail("tensor {} is no matrix", tensor.name);
  }
}

template <class Exec>
ModelWeights<typename Exec::memory_space> allocate_weights(const Exec& exec,
                                                           const ModelConfig& config,
                                                           std::span<const ModelTensor> tensors,
                                                           Element element) {
  using MemorySpace = typename Exec::memory_space;
  ModelWeights<MemorySpace> weights;
  weights.layers.resize(static_cast<std::size_t>(config.n_layers));
  for (const ModelTensor& tensor : tensors) {
    if (tensor.first_row != 0) continue;  // held by the place of the tensor before
    const std::string label = label_of(tensor.role);
    if (kind_of(tensor.role) != TensorKind::matrix) {
      vector_of(weights, tensor) =
          allocate<WeightVector<MemorySpace>>(exec, label, tensor.held_rows);
      continue;
    }
    WeightMatrix<MemorySpace>& matrix = matrix_of<Exec>(weights, tensor);
    matrix.element = element;
    matrix.out_dim = tensor.held_rows;
    matrix.in_dim = tensor.in_dim;
    matrix.storage = allocate<Array1<std::byte, MemorySpace>>(exec, label, matrix.bytes());
  }
  return weights;
}

namespace {

struct Rounded {
  float value;
  template <class T>
  float operator()(ElementTag<T>) const {
    return static_cast<float>(round_to<T>(value));
  }
};

}  // namespace

float rounded(Element element, float value) {
  return visit_element(element, Rounded{value});
}

template <class Exec>
void upload(const Exec& exec, std::span<float> values, Element element,
            ModelWeights<typename Exec::memory_space>& weights, const ModelTensor& tensor) {
  for (float& value : values) value = rounded(element, value);
  const Kokkos::View<const float*, Kokkos::LayoutRight, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>
      host(values.data(), values.size());
  const auto first = static_cast<std::size_t>(tensor.first_row);
  const auto place =
      Kokkos::subview(vector_of(weights, tensor), std::pair(first, first + values.size()));
  Kokkos::deep_copy(exec, place, host);
  exec.fence("kvmeter::weights::upload: the host's copy ends here");
}

#define KVMETER_INSTANTIATE(Exec)                                                                 \
  template WeightMatrix<Exec::memory_space>& matrix_of<Exec>(ModelWeights<Exec::memory_space>&,   \
                                                             const ModelTensor&);                 \
  template ModelWeights<Exec::memory_space> allocate_weights(                                     \
      const Exec&, const ModelConfig&, std::span<const ModelTensor>, Element);                    \
  template void upload(const Exec&, std::span<float>, Element, ModelWeights<Exec::memory_space>&, \
                       const ModelTensor&);
KVMETER_FOR_EACH_EXEC(KVMETER_INSTANTIATE)
#undef KVMETER_INSTANTIATE

}  // namespace kvmeter::detail

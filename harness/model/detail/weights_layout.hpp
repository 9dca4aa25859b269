// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Where the tensors of a model lie in ModelWeights, and their allocation. Common to the loader and
// the random weights, which differ only in where values come from.
#pragma once

#include <span>

#include "harness/model/tensor_names.hpp"
#include "harness/model/weights.hpp"

namespace kvmeter::detail {

/// The matrix that holds this tensor, from its row `first_row` on. \pre kind_of(role) is matrix
template <class Exec>
WeightMatrix<typename Exec::memory_space>& matrix_of(
    ModelWeights<typename Exec::memory_space>& weights, const ModelTensor& tensor);

/// All matrices and vectors of `tensors`, their pages untouched. Tried and dropped: MADV_HUGEPAGE,
/// which on a virtual machine made the first touch of 2.2 GB cost 6.5 s of system time in place of
/// 0.9 s.
template <class Exec>
ModelWeights<typename Exec::memory_space> allocate_weights(const Exec& exec,
                                                           const ModelConfig& config,
                                                           std::span<const ModelTensor> tensors,
                                                           Element element);

/// What a stored element becomes when it is rounded to `element` and held as float.
float rounded(Element element, float value);

/// Writes `values` [out_dim], rounded to `element`, to the place of this norm or bias.
template <class Exec>
void upload(const Exec& exec, std::span<float> values, Element element,
            ModelWeights<typename Exec::memory_space>& weights, const ModelTensor& tensor);

/// Ends filling: a tied head becomes the embedding's storage.
template <class MemorySpace>
void tie_head(const ModelConfig& config, ModelWeights<MemorySpace>& weights) {
  if (config.tied_embeddings) weights.head = weights.embedding;
}

}  // namespace kvmeter::detail

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Scales of fp8 elements, measured: the largest |K| and |V| of each layer over the first prompt
// become the largest number of the format.
#pragma once

#include "harness/run/session.hpp"

namespace kvmeter::run {

/// Are there fp8 elements to be scaled by layer?
bool measures_scales(const Setup& setup);

/// What the first prompt goes through by itself.
struct ScalePass {
  CacheRecipe recipe;
  CacheSpec cache;
  std::int64_t chunk = 1;  // tokens of a step
};
ScalePass scale_pass(const Setup& setup);

/// [n_layers]; empty unless the point has fp8 elements and fp8_scale = layer. What other tokens
/// have beyond the largest saturates.
template <class Exec>
std::vector<LayerScales> measure_scales(const Exec& exec, Decoder<Exec>& decoder,
                                        const Setup& setup,
                                        const std::vector<std::vector<std::int32_t>>& prompts);

}  // namespace kvmeter::run

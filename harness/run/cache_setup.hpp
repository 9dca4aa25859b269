// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The cache that a point asks for, and what cannot be had together. `run` builds it, `size` counts
// it.
#pragma once

#include <cstdint>

#include "harness/core/point.hpp"
#include "harness/model/config.hpp"
#include "variants/block_cache.hpp"

namespace kvmeter::run {

/// The cache of a model for these sequences, with its own windows.
CacheSpec cache_spec(const ModelConfig& config, std::int64_t batch, std::int64_t max_tokens);

/// The same as the point asks for it: windows where the point's are shorter than the model's,
/// blocks, sinks, offloaded layers, and a pool in which a shared prefix is there once.
CacheSpec cache_spec(const Point& point, const ModelConfig& config, std::int64_t max_tokens);

/// Throws UsageError naming key, value and what is allowed; UnsupportedError where the placement
/// cannot do what is asked or no layer has the window that it needs.
void check_cache(const Point& point, const CacheSpec& spec);

}  // namespace kvmeter::run

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What a cache of some shape takes, computed and not allocated, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "harness/run/commands.hpp"
#include "variants/block_cache.hpp"

namespace kvmeter::run {

struct SizeReport {
  Point point;  // what was asked for; model is empty where the shape was given by flags
  CacheSpec spec;
  std::int64_t k_bits = 0, v_bits = 0;  // of an element, scales left out
  CacheFootprint total;
  std::int64_t peak_bytes = 0;         // on the way there: old and new memory while a cache grows
  std::vector<CacheFootprint> layers;  // [n_layers], tables and staging belong to none
  std::int64_t bytes_per_token = 0;    // of a token that all layers keep, scales included

  /// Do bytes differ from layer to layer?
  [[nodiscard]] bool layers_differ() const;
};

/// Throws UsageError where numbers make no sense together, UnsupportedError where the cache cannot
/// be had.
SizeReport size_report(const SizeOptions& options);

/// The formula with its numbers, the parts of the whole, and a table of layers that differ.
std::string text_of(const SizeReport& report);
std::string json_of(const SizeReport& report);

}  // namespace kvmeter::run

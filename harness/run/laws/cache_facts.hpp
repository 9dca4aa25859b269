// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What a record says of its cache: its shape, and every byte by what it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/core/record.hpp"

namespace kvmeter::laws {

/// Variables cache_..._bytes of a record, and the factors of the formula.
struct CacheFacts {
  std::string placement;
  std::int64_t layers = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t batch = 0;
  std::int64_t tokens_at_end = 0;  // of a sequence that goes to its end
  bool may_end_early = false;
  std::int64_t tokens = 0;         // kept, over sequences and layers
  std::int64_t kv_bits = 0;        // of an element of K and one of V together, scales left out
  std::int64_t row_extra = 0;      // scales and padding of a row of K and one of V together, bytes
  std::int64_t block_tokens = 0;   // asked for; these five say what a cache may have
  std::int64_t window = 0;         // of the layer that sees most; 0: everything
  std::int64_t sinks = 0;          // tokens
  std::int64_t shared_prefix = 0;  // tokens
  std::int64_t offload_layers = 0;
  std::int64_t formula = 0;  // from here on bytes
  std::int64_t scale = 0;
  std::int64_t shared = 0;
  std::int64_t block_rounding = 0;
  std::int64_t reserve = 0;
  std::int64_t staging = 0;
  std::int64_t table = 0;
  std::int64_t allocator = 0;
  std::int64_t live = 0;
  std::int64_t allocated = 0;
  std::int64_t reserved = 0;
  std::int64_t offloaded = 0;
  std::int64_t metadata = 0;
  std::int64_t ledger = 0;
  std::int64_t ledger_peak = 0;
  std::int64_t unexplained = 0;
  std::optional<std::int64_t> resident;  // growth of resident memory by the cache

  /// What the ledger has beside the formula's bytes, and can say why.
  [[nodiscard]] std::int64_t explained() const {
    return scale - shared + block_rounding + reserve + staging + table + allocator;
  }
  /// K and V of one token in one layer, scales left out.
  [[nodiscard]] std::int64_t token_bytes() const { return kv_heads * head_dim * kv_bits / 8; }
  /// Over sequences and layers on average: whole but for windows that differ between layers.
  [[nodiscard]] double tokens_per_sequence() const {
    return static_cast<double>(tokens) / static_cast<double>(layers * batch);
  }
};

/// Throws Error naming what is missing, or an element whose size is not known here.
CacheFacts cache_facts(const PointRecord& record);

}  // namespace kvmeter::laws

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The seam between the decoder and everything that varies in how K and V are kept and read. The
// decoder knows this interface and no variant: two virtual calls per layer per step.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "harness/cache/device_plan.hpp"
#include "harness/cache/layer_cache.hpp"
#include "harness/cache/step_plan.hpp"
#include "harness/core/cost.hpp"
#include "harness/exec/views.hpp"

namespace kvmeter {

/// Shapes and sizes a cache is built for; which placement, codecs and attention is the registry's
/// business.
struct CacheSpec {
  std::int64_t n_layers = 0;
  std::int64_t n_heads = 0;
  std::int64_t n_kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t batch = 1;               // sequences it has slots for
  std::int64_t max_tokens = 0;          // the longest sequence
  std::int64_t max_step_tokens = 0;     // most of a sequence in a step; 0: max_tokens
  std::vector<std::int64_t> windows{};  // [n_layers] keys a query sees, itself included; 0: all
  std::int64_t sink_tokens = 0;         // first keys that a window sees besides
  std::int64_t block_tokens = 16;       // of placements that have blocks
  std::int64_t pool_tokens = 0;     // rows that each layer's pool has; 0: enough for all sequences
  std::int64_t offload_layers = 0;  // the last so many live in a second memory space
  std::optional<std::byte> fill{};  // tests: what memory holds before it is written, 0xff is NaN

  [[nodiscard]] std::int64_t window(std::int64_t layer) const {
    return windows.empty() ? 0 : windows[static_cast<std::size_t>(layer)];
  }
};

/// Bytes of a cache, by what they are. See design.md, section 1. What Kokkos allocated for it is
///   formula + scale - shared            = live
///        + block_rounding + reserve     = allocated
///        + staging + table + allocator  = ledger
struct CacheFootprint {
  std::int64_t formula_bytes = 0;  // sum of layers: KV heads x head_dim x tokens kept x bytes of an
                                   // element, K and V; tokens of shared rows once for each owner
  std::int64_t shared_bytes = 0;   // what sharing saves of that
  std::int64_t scale_bytes = 0;    // scales of the rows there are, and their padding
  std::int64_t block_rounding_bytes = 0;  // rows of blocks or pages in use that hold no token yet
  std::int64_t reserve_bytes = 0;         // rows for later tokens, or for other sequences
  std::int64_t staging_bytes = 0;         // what offloaded layers are brought in through
  std::int64_t table_bytes = 0;           // block tables and lists of copies on the device
  std::int64_t allocator_bytes = 0;       // what Kokkos rounds allocations up by
  std::int64_t reserved_bytes = 0;        // address space or slots set aside; allocated or more
  std::int64_t offloaded_bytes = 0;       // part of allocated that is in the second space
  std::int64_t tokens = 0;                // kept, over sequences and layers

  /// Rows that hold tokens, with their scales.
  [[nodiscard]] std::int64_t live_bytes() const {
    return formula_bytes + scale_bytes - shared_bytes;
  }
  /// Memory backing rows.
  [[nodiscard]] std::int64_t allocated_bytes() const {
    return live_bytes() + block_rounding_bytes + reserve_bytes;
  }
  [[nodiscard]] std::int64_t metadata_bytes() const { return scale_bytes + table_bytes; }
  /// All that the ledger should have under the cache's labels.
  [[nodiscard]] std::int64_t ledger_bytes() const {
    return allocated_bytes() + staging_bytes + table_bytes + allocator_bytes;
  }

  CacheFootprint& operator+=(const CacheFootprint& other);
  friend CacheFootprint operator*(std::int64_t n, const CacheFootprint& one);
  bool operator==(const CacheFootprint&) const = default;
};

inline constexpr auto footprint_members = std::to_array<std::int64_t CacheFootprint::*>(
    {&CacheFootprint::formula_bytes, &CacheFootprint::scale_bytes, &CacheFootprint::shared_bytes,
     &CacheFootprint::block_rounding_bytes, &CacheFootprint::reserve_bytes,
     &CacheFootprint::staging_bytes, &CacheFootprint::table_bytes, &CacheFootprint::allocator_bytes,
     &CacheFootprint::reserved_bytes, &CacheFootprint::offloaded_bytes, &CacheFootprint::tokens});

inline CacheFootprint& CacheFootprint::operator+=(const CacheFootprint& other) {
  for (const auto member : footprint_members) this->*member += other.*member;
  return *this;
}
inline CacheFootprint operator*(std::int64_t n, const CacheFootprint& one) {
  CacheFootprint sum;
  for (const auto member : footprint_members) sum.*member = n * one.*member;
  return sum;
}

/// Columns of the projection matrix: [n_rows, n_heads * head_dim] with a larger row stride.
template <class MemorySpace>
using ProjectedRows = Kokkos::View<const float**, Kokkos::LayoutStride, MemorySpace>;

template <class Exec>
class KvCache {
 public:
  using MemorySpace = typename Exec::memory_space;
  using Plan = DevicePlan<MemorySpace>;

  virtual ~KvCache() = default;

  /// Does a step find the K and V of earlier steps? If not, each step must bring the whole
  /// sequence.
  [[nodiscard]] virtual bool keeps_past() const = 0;

  /// Queries of one sequence that attention takes at once; what PlanBuffer is built with.
  [[nodiscard]] virtual std::int32_t tile_queries() const = 0;

  /// Makes room for the step's tokens, before its first layer: those that follow what the cache
  /// holds, or whole sequences where it keeps no past. Throws Error, and changes nothing, where a
  /// step is another or there is no room; after an OutOfMemoryError it can only be destroyed.
  virtual void reserve(const Exec& exec, const StepPlan& plan) = 0;

  /// Stores k and v of the step's rows, after RoPE. \param k, v [n_rows, n_kv_heads * head_dim]
  virtual void append(const Exec& exec, std::int64_t layer, const ProjectedRows<MemorySpace>& k,
                      const ProjectedRows<MemorySpace>& v, const Plan& plan) = 0;

  /// softmax(q K^T / sqrt(head_dim)) V over what each query may see. \param q [n_rows, n_heads *
  /// head_dim] \param out [n_rows, n_heads * head_dim], written
  virtual void attend(const Exec& exec, std::int64_t layer, const ProjectedRows<MemorySpace>& q,
                      const Plan& plan, const Array2<float, MemorySpace>& out) = 0;

  /// Forgets positions from n_tokens on of one sequence, or all sequences.
  virtual void truncate(std::int32_t slot, std::int32_t n_tokens) = 0;
  virtual void clear() = 0;

  /// Makes `to`, which is empty, begin with the first n_tokens of `from`: shared where the
  /// placement can, else copied. Throws Error where rows are gone or none is free.
  virtual void fork(const Exec& exec, std::int32_t from, std::int32_t to,
                    std::int32_t n_tokens) = 0;

  /// What elements of a layer are divided by before they are stored, for codecs that take a scale
  /// (fp8_e4m3). \pre nothing is stored yet
  virtual void set_scales(std::int64_t layer, float k_scale, float v_scale) = 0;

  [[nodiscard]] virtual CacheFootprint footprint() const = 0;

  /// What append and attend of all layers must move and compute in a step.
  [[nodiscard]] virtual Cost cost(const StepPlan& plan) const = 0;

  /// Bytes that attention works in, in Kokkos' own scratch.
  [[nodiscard]] virtual std::int64_t scratch_bytes() const = 0;

  /// One layer's handle, for tests and for claims about stored bytes.
  [[nodiscard]] virtual LayerCache layer(std::int64_t layer) const = 0;
};

}  // namespace kvmeter

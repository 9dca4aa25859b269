// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The seam between the decoder and everything that varies in how K and V are kept and read. The
// decoder knows this interface and no variant: two virtual calls per layer per step.
#pragma once

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
  std::int64_t batch = 1;             // sequences it has slots for
  std::int64_t max_tokens = 0;        // the longest sequence
  std::vector<std::int64_t> windows;  // [n_layers] keys a query sees, itself included; 0: all
  std::optional<std::byte> fill;      // tests: what memory holds before it is written, 0xff is NaN

  [[nodiscard]] std::int64_t window(std::int64_t layer) const {
    return windows.empty() ? 0 : windows[static_cast<std::size_t>(layer)];
  }
};

/// Bytes of a cache, by what they are. See design.md, section 1.
struct CacheFootprint {
  std::int64_t formula_bytes = 0;  // 2 x layers x KV heads x head_dim x tokens x bytes per element
  std::int64_t live_bytes = 0;     // rows that hold tokens, with their metadata
  std::int64_t allocated_bytes = 0;  // memory backing rows
  std::int64_t reserved_bytes = 0;   // address space or slots set aside
  std::int64_t metadata_bytes = 0;   // scales in live rows, and block tables
};

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

  /// Makes room for the step's tokens, before its first layer. Throws Error where there is none.
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

  [[nodiscard]] virtual CacheFootprint footprint() const = 0;

  /// What append and attend of all layers must move and compute in a step.
  [[nodiscard]] virtual Cost cost(const StepPlan& plan) const = 0;

  /// Bytes that attention works in, in Kokkos' own scratch.
  [[nodiscard]] virtual std::int64_t scratch_bytes() const = 0;

  /// One layer's handle, for tests and for claims about stored bytes.
  [[nodiscard]] virtual LayerCache layer(std::int64_t layer) const = 0;
};

}  // namespace kvmeter

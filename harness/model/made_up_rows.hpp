// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// K and V rows that no model computed: a cache is filled to any depth in the time that writing it
// takes.
#pragma once

#include <cstdint>

#include "harness/cache/device_plan.hpp"
#include "harness/cache/kv_cache.hpp"

namespace kvmeter {

/// Rows that are made up; they are used again and again.
inline constexpr std::int64_t made_up_rows = 256;

template <class Exec>
class MadeUpRows {
 public:
  /// Of standard deviation 1, as those of K and V after norms are about.
  /// \param kv_dim elements of K, and of V, of a token
  MadeUpRows(const Exec& exec, std::int64_t kv_dim, std::int32_t tile_queries);

  /// Appends rows for the plan's positions to each layer, one sequence after the other, and waits
  /// for them. A sequence brings up to made_up_rows tokens.
  void append(const Exec& exec, const StepPlan& plan, std::int64_t n_layers, KvCache<Exec>& cache);

  /// Bytes of its memory, without allocating it.
  static std::int64_t bytes(std::int64_t kv_dim);

 private:
  Array2<float, typename Exec::memory_space> m_rows;  // [made_up_rows, 2 kv_dim]
  PlanBuffer<Exec> m_plan;
};

}  // namespace kvmeter

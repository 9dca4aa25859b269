// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// A StepPlan where kernels can read it: one packed buffer, one host-to-device copy per step.
#pragma once

#include <algorithm>
#include <cstdint>

#include "harness/cache/step_plan.hpp"
#include "harness/core/error.hpp"
#include "harness/exec/views.hpp"

namespace kvmeter {

/// Queries of one sequence that one team handles together, for one KV head.
struct QueryTile {
  std::int32_t slot;
  std::int32_t first_row;       // row of the step's matrices
  std::int32_t first_position;  // of that row
  std::int32_t n_queries;
};

/// The plan as kernels see it. Views of a PlanBuffer, valid until its next upload.
template <class MemorySpace>
struct DevicePlan {
  std::int32_t n_rows = 0;
  std::int32_t n_sequences = 0;
  std::int32_t n_tiles = 0;
  std::int32_t max_context = 0;
  std::int32_t tile_queries = 0;                     // the most queries in a tile
  ConstArray1<std::int32_t, MemorySpace> tokens;     // [n_rows]
  ConstArray1<std::int32_t, MemorySpace> positions;  // [n_rows]
  ConstArray1<std::int32_t, MemorySpace> slots;      // [n_rows]
  ConstArray1<std::int32_t, MemorySpace>
      last_rows;                              // [n_sequences] row of each sequence's last token
  ConstArray1<QueryTile, MemorySpace> tiles;  // [n_tiles]
};

/// Owns the packed buffer, sized once for the largest step.
template <class Exec>
class PlanBuffer {
 public:
  using MemorySpace = typename Exec::memory_space;

  /// Room for steps of up to max_rows tokens in up to max_sequences sequences; teams take up to
  /// tile_queries queries at once.
  PlanBuffer(const Exec& exec, std::int64_t max_rows, std::int64_t max_sequences,
             std::int32_t tile_queries)
      : m_max_rows(max_rows),
        m_max_sequences(max_sequences),
        m_tile_queries(tile_queries),
        m_device(allocate<Array1<std::int32_t, MemorySpace>>(exec, "kvmeter::activations::plan",
                                                             7 * max_rows + max_sequences)),
        m_host(Kokkos::create_mirror_view(Kokkos::HostSpace{}, m_device)) {}

  /// Packs and copies; the previous step on exec must have been fenced.
  DevicePlan<MemorySpace> upload(const Exec& exec, const StepPlan& plan) {
    KVMETER_EXPECTS(plan.n_rows() <= m_max_rows, "a step of {} tokens; room for {}", plan.n_rows(),
                    m_max_rows);
    KVMETER_EXPECTS(static_cast<std::int64_t>(plan.sequences.size()) <= m_max_sequences,
                    "a step of {} sequences; room for {}", plan.sequences.size(), m_max_sequences);
    DevicePlan<MemorySpace> result;
    result.n_rows = static_cast<std::int32_t>(plan.n_rows());
    result.n_sequences = static_cast<std::int32_t>(plan.sequences.size());
    result.max_context = plan.max_context();
    result.tile_queries = m_tile_queries;
    pack(plan, result);
    const auto used = std::make_pair<std::size_t>(0, m_used);
    Kokkos::deep_copy(exec, Kokkos::subview(m_device, used), Kokkos::subview(m_host, used));
    return result;
  }

 private:
  /// Reserves n integers of the buffer: the host part to fill, the device part in `view`.
  template <class T>
  T* take(std::size_t n, ConstArray1<T, MemorySpace>& view) {
    const std::size_t at = m_used;
    m_used += n * sizeof(T) / sizeof(std::int32_t);
    view = {reinterpret_cast<const T*>(m_device.data() + at), n};
    return reinterpret_cast<T*>(m_host.data() + at);
  }

  void pack(const StepPlan& plan, DevicePlan<MemorySpace>& result) {
    m_used = 0;
    const auto n = static_cast<std::size_t>(result.n_rows);
    std::copy(plan.tokens.begin(), plan.tokens.end(), take(n, result.tokens));
    std::int32_t* positions = take(n, result.positions);
    std::int32_t* slots = take(n, result.slots);
    std::int32_t* last_rows = take(plan.sequences.size(), result.last_rows);
    std::int32_t row = 0;
    for (const StepSequence& s : plan.sequences) {
      for (std::int32_t i = 0; i < s.n_tokens; ++i, ++row) {
        positions[row] = s.first_position + i;
        slots[row] = s.slot;
      }
      *last_rows++ = row - 1;
    }
    pack_tiles(plan, result);
  }

  /// Tiles of the last positions first: they see most keys and take longest, and dynamic scheduling
  /// starts them early.
  void pack_tiles(const StepPlan& plan, DevicePlan<MemorySpace>& result) {
    for (const StepSequence& s : plan.sequences)
      result.n_tiles += (s.n_tokens + m_tile_queries - 1) / m_tile_queries;
    QueryTile* tile = take(static_cast<std::size_t>(result.n_tiles), result.tiles);
    std::int32_t row = 0;
    for (const StepSequence& s : plan.sequences) {
      for (std::int32_t i = 0; i < s.n_tokens; i += m_tile_queries)
        *tile++ = {s.slot, row + i, s.first_position + i, std::min(m_tile_queries, s.n_tokens - i)};
      row += s.n_tokens;
    }
    std::stable_sort(tile - result.n_tiles, tile, [](const QueryTile& a, const QueryTile& b) {
      return a.first_position > b.first_position;
    });
  }

  std::int64_t m_max_rows;
  std::int64_t m_max_sequences;
  std::int32_t m_tile_queries;
  std::size_t m_used = 0;
  Array1<std::int32_t, MemorySpace> m_device;
  HostArray1<std::int32_t> m_host;
};

}  // namespace kvmeter

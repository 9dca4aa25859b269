// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/made_up_rows.hpp"

#include <utility>

#include "harness/exec/counter_random.hpp"
#include "harness/exec/spaces.hpp"

namespace kvmeter {
namespace {

template <class MemorySpace>
struct MakeUp {
  Array2<float, MemorySpace> rows;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t index) const {
    const auto columns = static_cast<std::int64_t>(rows.extent(1));
    const double root3 = 1.7320508075688772;
    const double u = uniform01(splitmix64(static_cast<std::uint64_t>(index)));
    rows(index / columns, index % columns) = static_cast<float>(root3 * (2 * u - 1));
  }
};

}  // namespace

template <class Exec>
MadeUpRows<Exec>::MadeUpRows(const Exec& exec, std::int64_t kv_dim, std::int32_t tile_queries)
    : m_rows(allocate<decltype(m_rows)>(exec, "kvmeter::activations::made_up_rows", made_up_rows,
                                        2 * kv_dim)),
      m_plan(exec, made_up_rows, 1, tile_queries) {
  const Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>> elements(
      exec, 0, static_cast<std::int64_t>(m_rows.size()));
  Kokkos::parallel_for("kvmeter::model::make_up_rows", elements,
                       MakeUp<typename Exec::memory_space>{m_rows});
}

template <class Exec>
void MadeUpRows<Exec>::append(const Exec& exec, const StepPlan& plan, std::int64_t n_layers,
                              KvCache<Exec>& cache) {
  cache.reserve(exec, plan);
  const std::size_t kv_dim = m_rows.extent(1) / 2;
  for (const StepSequence& s : plan.sequences) {
    StepPlan one;
    one.sequences.push_back(s);
    const auto uploaded = m_plan.upload(exec, one);
    const auto rows = [&](std::size_t first) -> ProjectedRows<typename Exec::memory_space> {
      return Kokkos::subview(m_rows, std::make_pair(0, s.n_tokens),
                             std::make_pair(first, first + kv_dim));
    };
    for (std::int64_t layer = 0; layer < n_layers; ++layer)
      cache.append(exec, layer, rows(0), rows(kv_dim), uploaded);
    exec.fence("kvmeter::model::made_up_rows: the plan is written anew");
  }
}

template <class Exec>
std::int64_t MadeUpRows<Exec>::bytes(std::int64_t kv_dim) {
  constexpr std::int64_t plan_words = 7;  // of a row
  return 4 * (made_up_rows * (2 * kv_dim + plan_words) + 1);
}

#define KVMETER_INSTANTIATE(Exec) template class MadeUpRows<Exec>;
KVMETER_FOR_EACH_EXEC(KVMETER_INSTANTIATE)
#undef KVMETER_INSTANTIATE

}  // namespace kvmeter

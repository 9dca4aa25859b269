// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/spaces.hpp"
#include "harness/ops/rows.hpp"

namespace kvmeter::ops {
namespace {

/// One element: E is the storage type of both tables.
template <class Exec, class E>
struct EmbedKernel {
  using MemorySpace = typename Exec::memory_space;
  ConstArray1<std::int32_t, MemorySpace> tokens;
  ConstArray1<std::int32_t, MemorySpace> positions;
  ConstArray2<E, MemorySpace> embedding;        // [vocab_size, hidden_dim]
  ConstArray2<E, MemorySpace> positions_table;  // [max_positions, hidden_dim] or empty
  Rows<MemorySpace> x;                          // [n_rows, hidden_dim]

  KOKKOS_INLINE_FUNCTION void operator()(std::int32_t row, std::int32_t column) const {
    auto value = static_cast<float>(embedding(tokens(row), column));
    if (positions_table.extent(0) > 0)
      value += static_cast<float>(positions_table(positions(row), column));
    x(row, column) = value;
  }
};

template <class Exec>
struct GatherKernel {
  using MemorySpace = typename Exec::memory_space;
  Rows<MemorySpace> x;
  ConstArray1<std::int32_t, MemorySpace> rows;
  Rows<MemorySpace> out;

  KOKKOS_INLINE_FUNCTION void operator()(std::int32_t row, std::int32_t column) const {
    out(row, column) = x(rows(row), column);
  }
};

template <class Exec>
using Elements = Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2, Kokkos::Iterate::Right>,
                                       Kokkos::IndexType<std::int32_t>>;

template <class Exec>
Elements<Exec> elements(const Exec& exec, const Rows<typename Exec::memory_space>& out) {
  return {exec,
          {0, 0},
          {static_cast<std::int32_t>(out.extent(0)), static_cast<std::int32_t>(out.extent(1))}};
}

}  // namespace

template <class Exec>
void embed(const Exec& exec, const ConstArray1<std::int32_t, typename Exec::memory_space>& tokens,
           const ConstArray1<std::int32_t, typename Exec::memory_space>& positions,
           const WeightMatrix<typename Exec::memory_space>& embedding,
           const WeightMatrix<typename Exec::memory_space>& positions_table,
           const Rows<typename Exec::memory_space>& x) {
  visit_element(embedding.element, [&](auto tag) {
    using E = typename decltype(tag)::type;
    const EmbedKernel<Exec, E> kernel{tokens, positions, embedding.template view<E>(),
                                      positions_table.template view<E>(), x};
    Kokkos::parallel_for("kvmeter::ops::embed", elements(exec, x), kernel);
  });
}

template <class Exec>
void gather(const Exec& exec, const Rows<typename Exec::memory_space>& x,
            const ConstArray1<std::int32_t, typename Exec::memory_space>& rows,
            const Rows<typename Exec::memory_space>& out) {
  Kokkos::parallel_for("kvmeter::ops::gather", elements(exec, out),
                       GatherKernel<Exec>{x, rows, out});
}

#define KVMETER_INSTANTIATE(Exec)                                                              \
  template void embed<Exec>(const Exec&, const ConstArray1<std::int32_t, Exec::memory_space>&, \
                            const ConstArray1<std::int32_t, Exec::memory_space>&,              \
                            const WeightMatrix<Exec::memory_space>&,                           \
                            const WeightMatrix<Exec::memory_space>&,                           \
                            const Rows<Exec::memory_space>&);                                  \
  template void gather<Exec>(const Exec&, const Rows<Exec::memory_space>&,                     \
                             const ConstArray1<std::int32_t, Exec::memory_space>&,             \
                             const Rows<Exec::memory_space>&);
KVMETER_FOR_EACH_EXEC(KVMETER_INSTANTIATE)
#undef KVMETER_INSTANTIATE

}  // namespace kvmeter::ops

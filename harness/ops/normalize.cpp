// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/ops/row_team.hpp"
#include "harness/ops/rows.hpp"

namespace kvmeter::ops {
namespace {

template <class Exec>
struct NormalizeKernel {
  using MemorySpace = typename Exec::memory_space;
  using Team = typename RowPolicy<Exec>::member_type;
  NormKind kind;
  double epsilon;
  Rows<MemorySpace> x;
  Array1<float, MemorySpace> scale;
  Array1<float, MemorySpace> shift;
  Rows<MemorySpace> out;

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    const std::int32_t row = team.league_rank();
    const auto columns = static_cast<std::int32_t>(x.extent(1));
    const float* in = &x(row, 0);
    double mean = 0;
    if (kind == NormKind::layer)
      mean = sum(team, columns, [&](std::int32_t c) { return double{in[c]}; }) / columns;
    const double square = sum(team, columns, [&](std::int32_t c) {
      const double distance = in[c] - mean;
      return distance * distance;
    });
    const auto factor = static_cast<float>(1.0 / Kokkos::sqrt(square / columns + epsilon));
    const auto center = static_cast<float>(mean);
    float* to = &out(row, 0);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, columns), [&](std::int32_t c) {
      const float value = (in[c] - center) * factor * scale(c);
      to[c] = shift.extent(0) > 0 ? value + shift(c) : value;
    });
  }

 private:
  template <class Term>
  KOKKOS_INLINE_FUNCTION static double sum(const Team& team, std::int32_t n, const Term& term) {
    double total = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamVectorRange(team, n),
        [&](std::int32_t i, double& partial) { partial += term(i); }, total);
    return total;
  }
};

}  // namespace

template <class Exec>
void normalize(const Exec& exec, NormKind kind, double epsilon,
               const Rows<typename Exec::memory_space>& x,
               const Array1<float, typename Exec::memory_space>& scale,
               const Array1<float, typename Exec::memory_space>& shift,
               const Rows<typename Exec::memory_space>& out) {
  Kokkos::parallel_for("kvmeter::ops::normalize",
                       row_policy(exec, static_cast<std::int64_t>(x.extent(0))),
                       NormalizeKernel<Exec>{kind, epsilon, x, scale, shift, out});
}

#define KVMETER_INSTANTIATE(Exec)                                                               \
  template void normalize<Exec>(const Exec&, NormKind, double, const Rows<Exec::memory_space>&, \
                                const Array1<float, Exec::memory_space>&,                       \
                                const Array1<float, Exec::memory_space>&,                       \
                                const Rows<Exec::memory_space>&);
KVMETER_FOR_EACH_EXEC(KVMETER_INSTANTIATE)
#undef KVMETER_INSTANTIATE

}  // namespace kvmeter::ops

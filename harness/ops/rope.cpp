// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/ops/rope.hpp"

#include <cmath>

#include "harness/exec/spaces.hpp"

namespace kvmeter::ops {
namespace {

/// One head of one row.
template <class Exec>
struct RotateKernel {
  RotateArguments<typename Exec::memory_space> a;

  KOKKOS_INLINE_FUNCTION void operator()(std::int32_t index) const {
    const std::int32_t row = index / a.n_heads;
    const std::int32_t head = index % a.n_heads;
    float* x = &a.qkv(row, head * a.head_dim);
    const auto& norm = head < a.n_q_heads ? a.q_norm : a.k_norm;
    if (norm.extent(0) > 0) normalize(x, norm);
    if (a.table.cos.extent(0) > 0) turn(x, a.positions(row));
  }

  KOKKOS_INLINE_FUNCTION void normalize(
      float* x, const Array1<float, typename Exec::memory_space>& scale) const {
    double square = 0;
    for (std::int32_t i = 0; i < a.head_dim; ++i) square += static_cast<double>(x[i]) * x[i];
    const auto factor =
        static_cast<float>(1.0 / Kokkos::sqrt(square / a.head_dim + a.norm_epsilon));
    for (std::int32_t i = 0; i < a.head_dim; ++i) x[i] *= factor * scale(i);
  }

  KOKKOS_INLINE_FUNCTION void turn(float* x, std::int32_t position) const {
    const std::int32_t half = a.head_dim / 2;
    const float* cos = &a.table.cos(position, 0);
    const float* sin = &a.table.sin(position, 0);
    for (std::int32_t i = 0; i < half; ++i) {
      const float first = x[i];
      const float second = x[half + i];
      x[i] = first * cos[i] - second * sin[i];
      x[half + i] = second * cos[i] + first * sin[i];
    }
  }
};

}  // namespace

template <class Exec>
RopeTable<typename Exec::memory_space> make_rope_table(const Exec& exec,
                                                       std::span<const double> frequencies,
                                                       std::int64_t n_positions) {
  using MemorySpace = typename Exec::memory_space;
  const auto half = static_cast<std::int64_t>(frequencies.size());
  RopeTable<MemorySpace> table{allocate<Array2<float, MemorySpace>>(
                                   exec, "kvmeter::activations::rope_cos", n_positions, half),
                               allocate<Array2<float, MemorySpace>>(
                                   exec, "kvmeter::activations::rope_sin", n_positions, half)};
  const auto cos = Kokkos::create_mirror_view(Kokkos::HostSpace{}, table.cos);
  const auto sin = Kokkos::create_mirror_view(Kokkos::HostSpace{}, table.sin);
  for (std::int64_t position = 0; position < n_positions; ++position) {
    for (std::int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(position) * frequencies[static_cast<std::size_t>(i)];
      cos(position, i) = static_cast<float>(std::cos(angle));
      sin(position, i) = static_cast<float>(std::sin(angle));
    }
  }
  Kokkos::deep_copy(exec, table.cos, cos);
  Kokkos::deep_copy(exec, table.sin, sin);
  exec.fence("kvmeter::ops::rope_table: host mirrors go away");
  return table;
}

template <class Exec>
void rotate(const Exec& exec, const RotateArguments<typename Exec::memory_space>& arguments) {
  const Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int32_t>> policy(
      exec, 0, static_cast<std::int32_t>(arguments.qkv.extent(0)) * arguments.n_heads);
  Kokkos::parallel_for("kvmeter::ops::rotate", policy, RotateKernel<Exec>{arguments});
}

#define KVMETER_INSTANTIATE(Exec)                               \
  template RopeTable<Exec::memory_space> make_rope_table<Exec>( \
      const Exec&, std::span<const double>, std::int64_t);      \
  template void rotate<Exec>(const Exec&, const RotateArguments<Exec::memory_space>&);
KVMETER_FOR_EACH_EXEC(KVMETER_INSTANTIATE)
#undef KVMETER_INSTANTIATE

}  // namespace kvmeter::ops

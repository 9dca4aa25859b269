// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/pack.hpp"
#include "harness/exec/spaces.hpp"
#include "harness/ops/rows.hpp"

namespace kvmeter::ops {
namespace {

/// One chunk of a row: a pack on the host, an element on a device.
template <class Exec>
struct SwigluKernel {
  using MemorySpace = typename Exec::memory_space;
  Rows<MemorySpace> up;   // [n_rows, 2 ffn_dim]
  Rows<MemorySpace> out;  // [n_rows, ffn_dim]
  std::int32_t chunks;    // of a row

  KOKKOS_INLINE_FUNCTION void operator()(std::int32_t index) const {
    constexpr int width = pack_width<Exec>;
    using P = Pack<width>;
    const std::int32_t row = index / chunks;
    const std::int32_t first = index % chunks * width;
    const auto ffn_dim = static_cast<std::int32_t>(out.extent(1));
    const float* gate = &up(row, first);
    const float* linear = &up(row, ffn_dim + first);
    float* to = &out(row, first);
    if (first + width <= ffn_dim) {
      const P x = P::load(gate);
      // exp of up to 87: beyond it silu is x or 0 to the last bit, and infinity would give NaN
      const P e = exp(P::splat(0) - max(x, P::splat(-87.0F)));
      (x * P::load(linear) / (P::splat(1) + e)).store(to);
      return;
    }
    for (std::int32_t i = 0; first + i < ffn_dim; ++i)
      to[i] = gate[i] * linear[i] / (1.0F + Kokkos::exp(-gate[i]));
  }
};

template <class Exec>
struct GeluKernel {
  using MemorySpace = typename Exec::memory_space;
  Rows<MemorySpace> x;
  Rows<MemorySpace> out;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t index) const {
    const float v = x.data()[index];
    const float inner = 0.7978845608F * (v + 0.044715F * v * v * v);
    out.data()[index] = 0.5F * v * (1.0F + Kokkos::tanh(inner));
  }
};

}  // namespace

template <class Exec>
void swiglu(const Exec& exec, const Rows<typename Exec::memory_space>& up,
            const Rows<typename Exec::memory_space>& out) {
  constexpr int width = pack_width<Exec>;
  const auto chunks = static_cast<std::int32_t>((out.extent(1) + width - 1) / width);
  const Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int32_t>> policy(
      exec, 0, static_cast<std::int32_t>(out.extent(0)) * chunks);
  Kokkos::parallel_for("kvmeter::ops::swiglu", policy, SwigluKernel<Exec>{up, out, chunks});
}

template <class Exec>
void gelu_tanh(const Exec& exec, const Rows<typename Exec::memory_space>& x,
               const Rows<typename Exec::memory_space>& out) {
  const Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>> policy(
      exec, 0, static_cast<std::int64_t>(x.size()));
  Kokkos::parallel_for("kvmeter::ops::gelu_tanh", policy, GeluKernel<Exec>{x, out});
}

#define KVMETER_INSTANTIATE(Exec)                                             \
  template void swiglu<Exec>(const Exec&, const Rows<Exec::memory_space>&,    \
                             const Rows<Exec::memory_space>&);                \
  template void gelu_tanh<Exec>(const Exec&, const Rows<Exec::memory_space>&, \
                                const Rows<Exec::memory_space>&);
KVMETER_FOR_EACH_EXEC(KVMETER_INSTANTIATE)
#undef KVMETER_INSTANTIATE

}  // namespace kvmeter::ops

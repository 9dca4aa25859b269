// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The linear layer for many rows on the host: oneDNN on the weights as they are held.
#pragma once

#include <algorithm>

#include "harness/exec/pack.hpp"
#include "harness/ops/detail/dnnl_matmul.hpp"
#include "harness/ops/matmul.hpp"

namespace kvmeter::ops {

/// to[i] = from[i], converted; both row-major and contiguous.
template <class Exec, class From, class To>
struct ConvertKernel {
  const From* from;
  To* to;
  std::int64_t n;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t pack) const {
    using P = Pack<pack_width<Exec>>;
    const std::int64_t first = pack * P::width;
    if constexpr (std::is_same_v<To, float>) {
      if (first + P::width <= n) return P::load(from + first).store(to + first);
    }
    const std::int64_t end = first + P::width < n ? first + P::width : n;
    for (std::int64_t i = first; i < end; ++i) to[i] = round_to<To>(static_cast<float>(from[i]));
  }
};

template <class Exec, class From, class To>
void convert(const Exec& exec, const From* from, To* to, std::int64_t n) {
  constexpr int width = pack_width<Exec>;
  const Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>> policy(exec, 0,
                                                                          (n + width - 1) / width);
  Kokkos::parallel_for("kvmeter::ops::convert", policy, ConvertKernel<Exec, From, To>{from, to, n});
}

/// Can weights of this element be multiplied as they are? The others are unpacked to f32, a panel
/// of rows at a time.
inline bool multiplied_as_held(Element element) {
  return element == Element::f32 || (element == Element::bf16 && detail::fast_bf16());
}

/// Weight rows unpacked at once: 4 MiB of f32, which second- and third-level caches hold, so that
/// main memory sees the packed weights only. Tried on 2048 x 16384: oneDNN reached 166 GFLOP/s a
/// core on panels, 99 on the whole matrix.
inline std::int64_t panel_rows(std::int64_t in_dim) {
  constexpr std::int64_t panel_floats = 1 << 20;
  return std::max<std::int64_t>(64, panel_floats / in_dim / 64 * 64);
}

template <class Exec>
class ManyRowsHost {
 public:
  ManyRowsHost(const Exec& exec, const MatmulLimits& limits)
      : m_as_held(as_held(limits)),
        m_workspace(allocate<Array1<std::byte, typename Exec::memory_space>>(
            exec, "kvmeter::activations::matmul_workspace", workspace_bytes(limits))) {}

  static std::int64_t workspace_bytes(const MatmulLimits& limits) {
    if (limits.most_rows <= most_few_rows || limits.element == Element::f32) return 0;
    if (as_held(limits)) return limits.most_rows * limits.most_in_dim * 2;
    return std::max(std::int64_t{4} << 20, panel_rows(limits.most_in_dim) * limits.most_in_dim * 4);
  }

  void operator()(const Exec& exec, const LinearArguments<typename Exec::memory_space>& a) {
    const detail::DnnlProduct product{
        a.w.element, static_cast<std::int64_t>(a.x.extent(0)),   a.w.in_dim,
        a.w.out_dim, static_cast<std::int64_t>(a.out.stride(0)), a.bias.extent(0) > 0,
        a.accumulate};
    if (!m_as_held) return panels(exec, a, product);
    const void* x = a.x.data();
    if (a.w.element == Element::bf16) {
      KVMETER_EXPECTS(can_round(a.w.in_dim),
                      "bf16 matmul over {} channels; expected an even number", a.w.in_dim);
      auto* rounded = reinterpret_cast<BF16*>(m_workspace.data());
      convert(exec, a.x.data(), rounded, product.n_rows * product.in_dim);
      x = rounded;
    }
    exec.fence("kvmeter::ops::matmul: oneDNN reads what kernels wrote");
    m_dnnl.run(product, x, a.w.storage.data(), a.bias.data(), a.out.data());
  }

 private:
  static bool as_held(const MatmulLimits& limits) {
    return multiplied_as_held(limits.element) &&
           (limits.round_activations || limits.element == Element::f32);
  }

  void panels(const Exec& exec, const LinearArguments<typename Exec::memory_space>& a,
              detail::DnnlProduct product) {
    auto* panel = reinterpret_cast<float*>(m_workspace.data());
    const std::int64_t most_rows = panel_rows(a.w.in_dim);
    product.element = Element::f32;
    for (std::int64_t first = 0; first < a.w.out_dim; first += most_rows) {
      product.out_dim = std::min(most_rows, a.w.out_dim - first);
      visit_element(a.w.element, [&](auto tag) {
        using E = typename decltype(tag)::type;
        const auto* w = reinterpret_cast<const E*>(a.w.storage.data());
        convert(exec, w + first * a.w.in_dim, panel, product.out_dim * a.w.in_dim);
      });
      exec.fence("kvmeter::ops::matmul: oneDNN reads the unpacked panel");
      m_dnnl.run(product, a.x.data(), panel, product.has_bias ? a.bias.data() + first : nullptr,
                 a.out.data() + first);
    }
  }

  detail::DnnlMatmul m_dnnl;
  bool m_as_held;                                              // or in panels
  Array1<std::byte, typename Exec::memory_space> m_workspace;  // rounded x, or an f32 panel of w
};

}  // namespace kvmeter::ops

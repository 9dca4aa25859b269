// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The linear layer for many rows on the host: oneDNN on the weights as they are held.
#pragma once

#include <algorithm>

#include "harness/exec/spaces.hpp"
#include "harness/ops/detail/dnnl_matmul.hpp"
#include "harness/ops/matmul.hpp"

namespace kvmeter::ops {

/// to[i] = from[i], converted; both row-major and contiguous.
template <class Exec, class From, class To>
struct ConvertKernel {
  const From* from;
  To* to;
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    to[i] = round_to<To>(static_cast<float>(from[i]));
  }
};

template <class Exec, class From, class To>
void convert(const Exec& exec, const From* from, To* to, std::int64_t n) {
  const Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>> policy(exec, 0, n);
  Kokkos::parallel_for("kvmeter::ops::convert", policy, ConvertKernel<Exec, From, To>{from, to});
}

inline constexpr std::int64_t f16_panel_rows = 512;  // weight rows unpacked to f32 at once

template <class Exec>
class ManyRowsHost {
 public:
  ManyRowsHost(const Exec& exec, const MatmulLimits& limits)
      : m_workspace(allocate<Array1<std::byte, typename Exec::memory_space>>(
            exec, "kvmeter::activations::matmul_workspace", workspace_bytes(limits))) {}

  static std::int64_t workspace_bytes(const MatmulLimits& limits) {
    if (limits.most_rows <= most_few_rows) return 0;
    switch (limits.element) {
      case Element::bf16:
        return limits.most_rows * limits.most_in_dim * 2;
      case Element::f16:
        return f16_panel_rows * limits.most_in_dim * 4;
      case Element::f32:
        break;
    }
    return 0;
  }

  void operator()(const Exec& exec, const LinearArguments<typename Exec::memory_space>& a) {
    detail::DnnlProduct product{a.w.element,
                                static_cast<std::int64_t>(a.x.extent(0)),
                                a.w.in_dim,
                                a.w.out_dim,
                                static_cast<std::int64_t>(a.out.stride(0)),
                                a.bias.extent(0) > 0,
                                a.accumulate};
    if (a.w.element == Element::f16) return panels(exec, a, product);
    const void* x = a.x.data();
    if (a.w.element == Element::bf16) {
      auto* rounded = reinterpret_cast<BF16*>(m_workspace.data());
      convert(exec, a.x.data(), rounded, product.n_rows * product.in_dim);
      x = rounded;
    }
    exec.fence("kvmeter::ops::matmul: oneDNN reads what kernels wrote");
    m_dnnl.run(product, x, a.w.storage.data(), a.bias.data(), a.out.data());
  }

 private:
  void panels(const Exec& exec, const LinearArguments<typename Exec::memory_space>& a,
              detail::DnnlProduct product) {
    auto* panel = reinterpret_cast<float*>(m_workspace.data());
    const auto* w = reinterpret_cast<const F16*>(a.w.storage.data());
    product.element = Element::f32;
    for (std::int64_t first = 0; first < a.w.out_dim; first += f16_panel_rows) {
      product.out_dim = std::min(f16_panel_rows, a.w.out_dim - first);
      convert(exec, w + first * product.in_dim, panel, product.out_dim * product.in_dim);
      exec.fence("kvmeter::ops::matmul: oneDNN reads the unpacked panel");
      m_dnnl.run(product, a.x.data(), panel, product.has_bias ? a.bias.data() + first : nullptr,
                 a.out.data() + first);
    }
  }

  detail::DnnlMatmul m_dnnl;
  Array1<std::byte, typename Exec::memory_space> m_workspace;  // rounded x, or an f32 panel of w
};

}  // namespace kvmeter::ops

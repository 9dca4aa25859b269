// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The linear layer on CUDA, for any number of rows: cuBLASLt on the weights as they are held.
#pragma once

#include "harness/exec/spaces.hpp"
#include "harness/ops/detail/cublaslt_matmul.hpp"
#include "harness/ops/many_rows_host.hpp"

namespace kvmeter::ops {

template <class Exec>
class ManyRowsCuda {
 public:
  ManyRowsCuda(const Exec& exec, const MatmulLimits& limits)
      : m_workspace(allocate<Array1<std::byte, typename Exec::memory_space>>(
            exec, "kvmeter::activations::matmul_workspace", workspace_bytes(limits))),
        m_rounded_at(detail::CublasLtMatmul::workspace_bytes()) {}

  static std::int64_t workspace_bytes(const MatmulLimits& limits) {
    const std::int64_t rounded =
        limits.element == Element::f32 ? 0 : limits.most_rows * limits.most_in_dim * 2;
    return detail::CublasLtMatmul::workspace_bytes() + rounded;
  }

  void operator()(const Exec& exec, const LinearArguments<typename Exec::memory_space>& a) {
    const detail::CublasProduct product{
        a.w.element,          static_cast<std::int64_t>(a.x.extent(0)),
        a.w.in_dim,           a.w.out_dim,
        a.bias.extent(0) > 0, a.accumulate};
    m_cublas.run(product, rounded(exec, a), a.w.storage.data(), a.bias.data(), a.out.data(),
                 m_workspace.data(), exec.cuda_stream());
  }

 private:
  const void* rounded(const Exec& exec, const LinearArguments<typename Exec::memory_space>& a) {
    if (a.w.element == Element::f32) return a.x.data();
    std::byte* to = m_workspace.data() + m_rounded_at;
    visit_element(a.w.element, [&](auto tag) {
      using E = typename decltype(tag)::type;
      convert(exec, a.x.data(), reinterpret_cast<E*>(to), static_cast<std::int64_t>(a.x.size()));
    });
    return to;
  }

  detail::CublasLtMatmul m_cublas;
  Array1<std::byte, typename Exec::memory_space>
      m_workspace;  // cuBLASLt's, then x in the weights' element
  std::int64_t m_rounded_at;
};

}  // namespace kvmeter::ops

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/ops/matmul.hpp"

#include <array>

#include "harness/exec/spaces.hpp"
#include "harness/ops/few_rows.hpp"
#include "harness/ops/many_rows_cuda.hpp"
#include "harness/ops/many_rows_host.hpp"

namespace kvmeter::ops {
namespace {

template <class Exec>
using ManyRows = std::conditional_t<is_host_exec<Exec>, ManyRowsHost<Exec>, ManyRowsCuda<Exec>>;

}  // namespace

template <class Exec>
struct Matmul<Exec>::State {
  ManyRows<Exec> many_rows;
};

template <class Exec>
Matmul<Exec>::Matmul(const Exec& exec, const MatmulLimits& limits)
    : m_state(new State{ManyRows<Exec>(exec, limits)}) {}
template <class Exec>
Matmul<Exec>::~Matmul() = default;
template <class Exec>
Matmul<Exec>::Matmul(Matmul&&) noexcept = default;
template <class Exec>
Matmul<Exec>& Matmul<Exec>::operator=(Matmul&&) noexcept = default;

template <class Exec>
void Matmul<Exec>::operator()(const Exec& exec,
                              const LinearArguments<typename Exec::memory_space>& a) {
  if (is_host_exec<Exec> && static_cast<std::int64_t>(a.x.extent(0)) <= most_few_rows)
    few_rows(exec, a);
  else
    m_state->many_rows(exec, a);
}

template <class Exec>
std::string_view Matmul<Exec>::path(std::int64_t n_rows, Element element) {
  static constexpr std::array<std::string_view, 3> cuda{"cuBLASLt f32", "cuBLASLt f16",
                                                        "cuBLASLt bf16"};
  static constexpr std::array<std::string_view, 3> panels{"oneDNN f32", "oneDNN f32 on f16 panels",
                                                          "oneDNN f32 on bf16 panels"};
  if (!is_host_exec<Exec>) return cuda[static_cast<std::size_t>(element)];
  if (n_rows <= most_few_rows) return "kvmeter few rows";
  if (element == Element::bf16 && multiplied_as_held(element)) return "oneDNN bf16";
  return panels[static_cast<std::size_t>(element)];
}

template <class Exec>
bool Matmul<Exec>::rounds_activations(std::int64_t n_rows, Element element) {
  if (element == Element::f32) return false;
  return is_host_exec<Exec> ? n_rows > most_few_rows && multiplied_as_held(element) : true;
}

template <class Exec>
std::int64_t Matmul<Exec>::workspace_bytes(const MatmulLimits& limits) {
  return ManyRows<Exec>::workspace_bytes(limits);
}

#define KVMETER_INSTANTIATE(Exec) template class Matmul<Exec>;
KVMETER_FOR_EACH_EXEC(KVMETER_INSTANTIATE)
#undef KVMETER_INSTANTIATE

}  // namespace kvmeter::ops

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/token_choice.hpp"

#include <utility>

#include "harness/exec/spaces.hpp"
#include "harness/exec/views.hpp"

namespace kvmeter {
namespace {

/// Entries [first, first + n).
template <class Array>
auto part(const Array& array, std::size_t first, std::size_t n) {
  return Kokkos::subview(array, std::make_pair(first, first + n));
}

}  // namespace

std::int64_t token_choice_bytes(const ops::SamplingParameters& parameters, std::int64_t batch,
                                std::int64_t vocab_size) {
  constexpr std::int64_t word = 4;  // an id, a draw's slot or position, a weight
  return word * batch * (parameters.greedy ? 1 : 3 + vocab_size);
}

template <class Exec>
TokenChoice<Exec>::TokenChoice(const Exec& exec, const ops::SamplingParameters& parameters,
                               std::int64_t batch, std::int64_t vocab_size)
    : m_parameters(parameters),
      m_ids(allocate<decltype(m_ids)>(exec, "kvmeter::activations::sampled_ids", batch)),
      m_host_ids(Kokkos::create_mirror_view(Kokkos::HostSpace{}, m_ids)) {
  if (parameters.greedy) return;
  m_draws = allocate<decltype(m_draws)>(exec, "kvmeter::activations::draws", 2 * batch);
  m_host_draws = Kokkos::create_mirror_view(Kokkos::HostSpace{}, m_draws);
  m_weights = allocate<decltype(m_weights)>(exec, "kvmeter::activations::sampling_weights", batch,
                                            vocab_size);
}

template <class Exec>
void TokenChoice<Exec>::upload_draws(const Exec& exec, const StepPlan& plan) {
  const std::size_t n = plan.sequences.size();
  for (std::size_t i = 0; i < n; ++i) {
    const StepSequence& s = plan.sequences[i];
    m_host_draws(i) = s.slot;
    m_host_draws(n + i) = s.first_position + s.n_tokens - 1;
  }
  Kokkos::deep_copy(exec, part(m_draws, 0, 2 * n), part(m_host_draws, 0, 2 * n));
}

template <class Exec>
const HostArray1<std::int32_t>& TokenChoice<Exec>::choose(
    const Exec& exec, const StepPlan& plan, const Array2<float, MemorySpace>& logits) {
  const std::size_t n = plan.sequences.size();
  ops::SamplingArguments<MemorySpace> arguments{logits, m_weights, {}, {}, part(m_ids, 0, n)};
  if (!m_parameters.greedy) {
    upload_draws(exec, plan);
    arguments.slots = part(m_draws, 0, n);
    arguments.positions = part(m_draws, n, n);
  }
  ops::sample(exec, m_parameters, arguments);
  Kokkos::deep_copy(exec, part(m_host_ids, 0, n), part(m_ids, 0, n));
  exec.fence("kvmeter::model::token_choice: the host reads the ids");
  return m_host_ids;
}

#define KVMETER_INSTANTIATE(Exec) template class TokenChoice<Exec>;
KVMETER_FOR_EACH_EXEC(KVMETER_INSTANTIATE)
#undef KVMETER_INSTANTIATE

}  // namespace kvmeter

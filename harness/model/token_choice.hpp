// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The next token of each sequence of a step, chosen on the device and brought to the host.
#pragma once

#include <cstdint>

#include "harness/cache/step_plan.hpp"
#include "harness/ops/sampling.hpp"

namespace kvmeter {

/// Bytes that a TokenChoice allocates.
std::int64_t token_choice_bytes(const ops::SamplingParameters& parameters, std::int64_t batch,
                                std::int64_t vocab_size);

template <class Exec>
class TokenChoice {
 public:
  using MemorySpace = typename Exec::memory_space;

  /// Room for steps of up to `batch` sequences.
  TokenChoice(const Exec& exec, const ops::SamplingParameters& parameters, std::int64_t batch,
              std::int64_t vocab_size);

  /// One id per sequence of the plan, drawn by its slot and last position, so that neighbours in
  /// the batch change nothing. Waits for it. \param logits [n_sequences, vocab_size]
  const HostArray1<std::int32_t>& choose(const Exec& exec, const StepPlan& plan,
                                         const Array2<float, MemorySpace>& logits);

 private:
  void upload_draws(const Exec& exec, const StepPlan& plan);

  ops::SamplingParameters m_parameters;
  Array1<std::int32_t, MemorySpace> m_ids;    // [batch]
  Array1<std::int32_t, MemorySpace> m_draws;  // [2, batch] slot and position of each draw
  Array2<float, MemorySpace> m_weights;       // [batch, vocab_size]
  HostArray1<std::int32_t> m_host_ids;
  HostArray1<std::int32_t> m_host_draws;
};

}  // namespace kvmeter

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/ops/sampling.hpp"

#include "harness/exec/counter_random.hpp"
#include "harness/ops/row_team.hpp"

namespace kvmeter::ops {
namespace {

template <class Exec>
struct GreedyKernel {
  using Team = typename RowPolicy<Exec>::member_type;
  SamplingArguments<typename Exec::memory_space> a;

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    using Reducer = Kokkos::MaxFirstLoc<float, std::int32_t, typename Exec::memory_space>;
    const std::int32_t row = team.league_rank();
    typename Reducer::value_type best;
    Kokkos::parallel_reduce(
        Kokkos::TeamVectorRange(team, static_cast<std::int32_t>(a.logits.extent(1))),
        [&](std::int32_t i, typename Reducer::value_type& update) {
          const float value = a.logits(row, i);
          if (value > update.val || (value == update.val && i < update.loc)) {
            update.val = value;
            update.loc = i;
          }
        },
        Reducer(best));
    Kokkos::single(Kokkos::PerTeam(team), [&] { a.ids(row) = best.loc; });
  }
};

/// Weights exp((logit - max) / temperature) are positive floats, whose order is that of their bits:
/// thresholds are found by bisection on the bits, with no sort and exactly.
template <class Exec>
struct DrawKernel {
  using Team = typename RowPolicy<Exec>::member_type;
  SamplingParameters parameters;
  SamplingArguments<typename Exec::memory_space> a;

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    const std::int32_t row = team.league_rank();
    fill_weights(team, row);
    float threshold = 0;
    const auto vocab_size = static_cast<std::int32_t>(a.logits.extent(1));
    if (parameters.top_k > 0 && parameters.top_k < vocab_size)
      threshold = greatest_threshold(team, [&](float t) {
        return total(team, row, [&](float w) { return w >= t ? 1.0 : 0.0; }) >= parameters.top_k;
      });
    if (parameters.top_p < 1) {
      const double enough = parameters.top_p * mass(team, row, threshold);
      threshold = greatest_threshold(
          team, [&](float t) { return mass(team, row, t > threshold ? t : threshold) >= enough; },
          threshold);
    }
    const double kept = mass(team, row, threshold);
    Kokkos::single(Kokkos::PerTeam(team), [&] { a.ids(row) = pick(row, threshold, kept); });
  }

 private:
  KOKKOS_INLINE_FUNCTION void fill_weights(const Team& team, std::int32_t row) const {
    const auto vocab_size = static_cast<std::int32_t>(a.logits.extent(1));
    float highest = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamVectorRange(team, vocab_size),
        [&](std::int32_t i, float& most) {
          most = a.logits(row, i) > most ? a.logits(row, i) : most;
        },
        Kokkos::Max<float>(highest));
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, vocab_size), [&](std::int32_t i) {
      a.weights(row, i) = Kokkos::exp((a.logits(row, i) - highest) / parameters.temperature);
    });
    team.team_barrier();
  }

  template <class Term>
  KOKKOS_INLINE_FUNCTION double total(const Team& team, std::int32_t row, const Term& term) const {
    double sum = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamVectorRange(team, static_cast<std::int32_t>(a.weights.extent(1))),
        [&](std::int32_t i, double& partial) { partial += term(a.weights(row, i)); }, sum);
    return sum;
  }

  KOKKOS_INLINE_FUNCTION double mass(const Team& team, std::int32_t row, float threshold) const {
    return total(team, row, [&](float w) { return w >= threshold ? double{w} : 0.0; });
  }

  /// The greatest threshold in [least, 1] for which enough(threshold) holds; it holds at `least`.
  template <class Enough>
  KOKKOS_INLINE_FUNCTION static float greatest_threshold(const Team&, const Enough& enough,
                                                         float least = 0) {
    std::uint32_t low = Kokkos::bit_cast<std::uint32_t>(least);
    std::uint32_t high = 0x3f800000U;  // 1.0, the weight of the most likely token
    while (low < high) {
      const std::uint32_t middle = low + (high - low + 1) / 2;
      if (enough(Kokkos::bit_cast<float>(middle)))
        low = middle;
      else
        high = middle - 1;
    }
    return Kokkos::bit_cast<float>(low);
  }

  /// Walks the kept weights in id order until the drawn share of their mass is passed.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int32_t pick(std::int32_t row, float threshold,
                                                         double kept) const {
    const std::uint64_t counter = (static_cast<std::uint64_t>(a.slots(row)) << 32) |
                                  static_cast<std::uint32_t>(a.positions(row));
    double left = kept * uniform01(splitmix64(splitmix64(parameters.seed) ^ counter));
    std::int32_t last = 0;
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(a.weights.extent(1)); ++i) {
      const float w = a.weights(row, i);
      if (w < threshold || w == 0) continue;
      last = i;
      left -= w;
      if (left < 0) break;
    }
    return last;
  }
};

}  // namespace

template <class Exec>
void sample(const Exec& exec, const SamplingParameters& parameters,
            const SamplingArguments<typename Exec::memory_space>& a) {
  const auto policy = row_policy(exec, static_cast<std::int64_t>(a.logits.extent(0)));
  if (parameters.greedy)
    Kokkos::parallel_for("kvmeter::ops::sample_greedy", policy, GreedyKernel<Exec>{a});
  else
    Kokkos::parallel_for("kvmeter::ops::sample", policy, DrawKernel<Exec>{parameters, a});
}

#define KVMETER_INSTANTIATE(Exec)                                    \
  template void sample<Exec>(const Exec&, const SamplingParameters&, \
                             const SamplingArguments<Exec::memory_space>&);
KVMETER_FOR_EACH_EXEC(KVMETER_INSTANTIATE)
#undef KVMETER_INSTANTIATE

}  // namespace kvmeter::ops

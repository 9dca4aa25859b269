// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/ops/compare_logits.hpp"

#include "harness/ops/row_team.hpp"

namespace kvmeter::ops {
namespace {

template <class Exec>
struct CompareKernel {
  using MemorySpace = typename Exec::memory_space;
  using Team = typename RowPolicy<Exec>::member_type;
  using Logits = ConstArray2<float, MemorySpace>;
  using Top = typename Kokkos::MaxFirstLoc<float, std::int32_t, MemorySpace>::value_type;
  LogitComparison<MemorySpace> a;

  /// Three sweeps over both rows, of which the sums each take an exponential; summing all three in
  /// one sweep would save one exponential of three.
  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    const std::int32_t row = team.league_rank();
    const Top p_top = top(team, a.reference, row);
    const Top q_top = top(team, a.other, row);
    const double p_sum = sum_of_weights(team, a.reference, row, p_top.val);
    const double q_sum = sum_of_weights(team, a.other, row, q_top.val);
    const double p_log = Kokkos::log(p_sum);
    const double q_log = Kokkos::log(q_sum);
    // log(p / q) = (p's logit - its top - p_log) - (q's logit - its top - q_log)
    const double kl = weighted_distance(team, row, p_top.val, q_top.val) / p_sum - p_log + q_log;
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      const std::int32_t next = a.next_ids(row);
      RowComparison& out = a.out(row);
      out.nll_reference = p_log - (double{a.reference(row, next)} - p_top.val);
      out.nll = q_log - (double{a.other(row, next)} - q_top.val);
      out.kl = kl < 0 ? 0 : kl;
      out.same_top = Kokkos::isnan(kl) ? kl : (p_top.loc == q_top.loc ? 1 : 0);
    });
  }

 private:
  [[nodiscard]] KOKKOS_INLINE_FUNCTION Top top(const Team& team, const Logits& logits,
                                               std::int32_t row) const {
    Top best;
    Kokkos::parallel_reduce(
        range(team),
        [&](std::int32_t i, Top& update) {
          const float value = logits(row, i);
          if (value > update.val || (value == update.val && i < update.loc)) {
            update.val = value;
            update.loc = i;
          }
        },
        Kokkos::MaxFirstLoc<float, std::int32_t, MemorySpace>(best));
    return best;
  }

  /// sum_i exp(logits[i] - top)
  [[nodiscard]] KOKKOS_INLINE_FUNCTION double sum_of_weights(const Team& team, const Logits& logits,
                                                             std::int32_t row, double top) const {
    double sum = 0;
    Kokkos::parallel_reduce(
        range(team),
        [&](std::int32_t i, double& partial) { partial += Kokkos::exp(logits(row, i) - top); },
        sum);
    return sum;
  }

  /// sum_i exp(reference[i] - p_top) ((reference[i] - p_top) - (other[i] - q_top))
  [[nodiscard]] KOKKOS_INLINE_FUNCTION double weighted_distance(const Team& team, std::int32_t row,
                                                                double p_top, double q_top) const {
    double sum = 0;
    Kokkos::parallel_reduce(
        range(team),
        [&](std::int32_t i, double& partial) {
          const double p = a.reference(row, i) - p_top;
          const double weight = Kokkos::exp(p);
          if (weight != 0) partial += weight * (p - (a.other(row, i) - q_top));  // NaN is not 0
        },
        sum);
    return sum;
  }

  [[nodiscard]] KOKKOS_INLINE_FUNCTION auto range(const Team& team) const {
    return Kokkos::TeamVectorRange(team, static_cast<std::int32_t>(a.reference.extent(1)));
  }
};

}  // namespace

template <class Exec>
void compare_logits(const Exec& exec, const LogitComparison<typename Exec::memory_space>& a) {
  Kokkos::parallel_for("kvmeter::ops::compare_logits",
                       row_policy(exec, static_cast<std::int64_t>(a.out.extent(0))),
                       CompareKernel<Exec>{a});
}

#define KVMETER_INSTANTIATE(Exec) \
  template void compare_logits<Exec>(const Exec&, const LogitComparison<Exec::memory_space>&);
KVMETER_FOR_EACH_EXEC(KVMETER_INSTANTIATE)
#undef KVMETER_INSTANTIATE

}  // namespace kvmeter::ops

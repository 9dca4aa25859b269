// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The kernel around an attention algorithm: one team per tile of queries, KV head and part of its
// query heads.
#pragma once

#include "variants/attention/scratch.hpp"

namespace kvmeter::attention {

/// Floats of fast scratch that an algorithm asks for besides; few do.
template <class Exec, class Algorithm>
KOKKOS_INLINE_FUNCTION std::size_t extra_floats(std::int32_t rows, std::int32_t channels) {
  if constexpr (requires { Algorithm::template extra_floats<Exec>(rows, channels); })
    return static_cast<std::size_t>(Algorithm::template extra_floats<Exec>(rows, channels));
  else
    return 0;
}

/// Floats of workspace outside scratch that it asks for.
template <class Exec, class Algorithm>
std::int64_t workspace_floats(std::int32_t most_rows, std::int32_t head_dim,
                              std::int32_t max_tokens, std::int32_t teams) {
  if constexpr (requires { Algorithm::template workspace_floats<Exec>(1, 1, 1, 1); })
    return Algorithm::template workspace_floats<Exec>(most_rows, head_dim, max_tokens, teams);
  else
    return 0;
}

template <class Exec, class Algorithm>
struct Kernel {
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::Schedule<Kokkos::Dynamic>>;
  using Team = typename Policy::member_type;

  Arguments<Exec> arguments;
  std::int32_t most_rows;
  std::int32_t score_stride;
  int score_level;  // of scratch: 0 where the score matrix is small

  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::size_t fast_bytes() const {
    const std::int32_t head_dim = arguments.cache.head_dim;
    const std::size_t floats =
        Scratch<Exec>::fast_floats(most_rows, head_dim) +
        extra_floats<Exec, Algorithm>(Scratch<Exec>::padded_rows(most_rows),
                                      Scratch<Exec>::padded_channels(head_dim));
    return sizeof(float) * floats + 64;
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::size_t score_bytes() const {
    return sizeof(float) * Scratch<Exec>::score_floats(most_rows, score_stride) + 64;
  }

  KOKKOS_INLINE_FUNCTION Scratch<Exec> scratch(const Team& team, const Work& w) const {
    auto* fast = static_cast<float*>(team.team_scratch(0).get_shmem_aligned(fast_bytes() - 64, 64));
    auto* scores = static_cast<float*>(
        team.team_scratch(score_level).get_shmem_aligned(score_bytes() - 64, 64));
    return {fast, scores, w.n_rows, arguments.cache.head_dim, score_stride};
  }

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    const Work w = work_of(arguments, team.league_rank());
    const Scratch<Exec> s = scratch(team, w);
    load_queries(team, arguments, w, s);
    Algorithm::attend(team, arguments, w, s);
    store_output(team, arguments, w, s);
  }
};

/// Scores beyond this many bytes go to the larger, slower scratch.
inline constexpr std::size_t most_fast_score_bytes = 32 * 1024;

/// The kernel with its scratch sized for max_tokens, the longest context of the cache, so that it
/// does not grow from step to step.
template <class Exec, class Algorithm>
Kernel<Exec, Algorithm> make_kernel(const Arguments<Exec>& arguments, std::int32_t most_rows,
                                    std::int32_t max_tokens) {
  Kernel<Exec, Algorithm> kernel{arguments, most_rows,
                                 Algorithm::template score_stride<Exec>(max_tokens), 0};
  kernel.score_level = kernel.score_bytes() <= most_fast_score_bytes ? 0 : 1;
  return kernel;
}

template <class Exec, class Algorithm>
std::int64_t scratch_bytes(std::int32_t most_rows, std::int32_t head_dim, std::int32_t max_tokens) {
  Arguments<Exec> arguments;
  arguments.cache.head_dim = head_dim;
  const auto kernel = make_kernel<Exec, Algorithm>(arguments, most_rows, max_tokens);
  return static_cast<std::int64_t>(kernel.fast_bytes() + kernel.score_bytes());
}

/// Runs a kernel that works in the scratch it asks for, on `league` teams.
template <class Exec, class AnyKernel>
void run_kernel(const char* label, const Exec& exec, const AnyKernel& kernel, std::int32_t league) {
  const bool fast_scores = kernel.score_level == 0;
  typename AnyKernel::Policy policy(exec, league, Shape<Exec>::team_size,
                                    Shape<Exec>::vector_length);
  policy.set_scratch_size(
      0, Kokkos::PerTeam(kernel.fast_bytes() + (fast_scores ? kernel.score_bytes() : 0)));
  if (!fast_scores) policy.set_scratch_size(1, Kokkos::PerTeam(kernel.score_bytes()));
  Kokkos::parallel_for(label, policy, kernel);
}

template <class Exec, class Algorithm>
void launch(const Exec& exec, const Arguments<Exec>& a, std::int32_t max_tokens) {
  const std::int32_t most_rows =
      heads_per_team<Exec>(a.n_heads, a.cache.n_kv_heads) * a.plan.tile_queries;
  if constexpr (requires { &Algorithm::template launch_parts<Exec>; })
    if (Algorithm::launch_parts(exec, a, most_rows, max_tokens)) return;
  run_kernel("kvmeter::attention::attend", exec,
             make_kernel<Exec, Algorithm>(a, most_rows, max_tokens), league_size(a));
}

}  // namespace kvmeter::attention

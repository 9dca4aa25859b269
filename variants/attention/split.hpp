// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The context in parts of split_tokens positions, each attended to by `online` on its own, and the
// parts merged in their order. Where a step has few sequences and KV heads, so that threads would
// be idle, each part is a team's work and a second kernel merges; else a team takes its parts one
// after the other. Both do the same arithmetic: results do not depend on the number of threads.
// T. Dao et al., "Flash-Decoding for long-context inference", 2023.
#pragma once

#include "variants/attention/launch.hpp"
#include "variants/attention/online.hpp"

namespace kvmeter::attention {

/// Positions of a part: a multiple of tile_tokens.
template <class Exec>
inline constexpr std::int32_t split_tokens = is_host_exec<Exec> ? 512 : 256;

/// What attending to some positions gave for some rows: sums of exponentials below `highest`.
struct Partial {
  float* out;      // [rows, channels] weighted sums of V
  float* highest;  // [rows]
  float* sum;      // [rows]
  std::int32_t rows;
  std::int32_t channels;

  KOKKOS_INLINE_FUNCTION static std::int64_t floats(std::int32_t rows, std::int32_t channels) {
    return std::int64_t{rows} * (channels + 2);
  }
  KOKKOS_INLINE_FUNCTION static Partial at(float* memory, std::int32_t rows,
                                           std::int32_t channels) {
    return {memory, memory + rows * channels, memory + rows * (channels + 1), rows, channels};
  }
  template <class Exec>
  KOKKOS_INLINE_FUNCTION static Partial of(const Scratch<Exec>& s) {
    return {s.out, s.highest, s.sum, s.rows, s.channels};
  }

  /// A sum that is NaN was of something.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION bool saw_nothing(std::int32_t m) const {
    return highest[m] == -Kokkos::Experimental::infinity_v<float> && sum[m] == 0;
  }

  /// Takes row m of `next`, of later positions, in. A part that saw nothing changes nothing, and
  /// the first that saw something is taken as it is.
  KOKKOS_INLINE_FUNCTION void merge_row(const Partial& next, std::int32_t m) const {
    if (next.saw_nothing(m)) return;
    const bool first = saw_nothing(m);
    const float top = highest[m] > next.highest[m] ? highest[m] : next.highest[m];
    const float mine = first ? 0.0F : Kokkos::exp(highest[m] - top);
    const float theirs = first ? 1.0F : Kokkos::exp(next.highest[m] - top);
    for (std::int32_t c = 0; c < channels; ++c)
      out[m * channels + c] = mine * out[m * channels + c] + theirs * next.out[m * channels + c];
    sum[m] = mine * sum[m] + theirs * next.sum[m];
    highest[m] = first ? next.highest[m] : top;
  }
};

struct Split {
  template <class Exec>
  static std::int32_t score_stride(std::int32_t max_context) {
    return Online::score_stride<Exec>(max_context);
  }

  /// Floats of scratch besides: the total so far.
  template <class Exec>
  KOKKOS_INLINE_FUNCTION static std::int64_t extra_floats(std::int32_t rows,
                                                          std::int32_t channels) {
    return Partial::floats(rows, channels);
  }

  /// Parts one after the other.
  template <class Exec, class Team>
  KOKKOS_INLINE_FUNCTION static void attend(const Team& team, const Arguments<Exec>& a,
                                            const Work& w, const Scratch<Exec>& s) {
    const Partial total = Partial::at(s.extra, s.rows, s.channels);
    const Partial part = Partial::of(s);
    for_each_row(team, s, [&](std::int32_t m) { clear(total, m); });
    for (std::int32_t from = 0; from < w.end; from += split_tokens<Exec>) {
      Online::attend(team, a, w, s, from, from + split_tokens<Exec>);
      for_each_row(team, s, [&](std::int32_t m) {
        total.merge_row(part, m);
        clear_row(s, m);
      });
    }
    for_each_row(team, s, [&](std::int32_t m) { copy(total, part, m); });
  }

  static std::int32_t n_parts(std::int32_t n_tokens, std::int32_t part) {
    return (n_tokens + part - 1) / part;
  }

  /// Floats of workspace for parts side by side: as much work as is split at most.
  template <class Exec>
  static std::int64_t workspace_floats(std::int32_t most_rows, std::int32_t head_dim,
                                       std::int32_t max_tokens, std::int32_t teams) {
    const std::int32_t parts = n_parts(max_tokens, split_tokens<Exec>);
    if (parts == 1) return 0;
    return std::int64_t{most_split_work(teams)} * parts * partial_floats<Exec>(most_rows, head_dim);
  }

  /// Parts side by side, where teams would be idle otherwise: false if not, and nothing was done.
  template <class Exec>
  static bool launch_parts(const Exec& exec, const Arguments<Exec>& a, std::int32_t most_rows,
                           std::int32_t max_tokens);

  /// Teams of work that are split; more keep all threads busy as they are.
  static std::int32_t most_split_work(std::int32_t teams) { return 4 * teams; }
  template <class Exec>
  KOKKOS_INLINE_FUNCTION static std::int64_t partial_floats(std::int32_t most_rows,
                                                            std::int32_t head_dim) {
    return Partial::floats(Scratch<Exec>::padded_rows(most_rows),
                           Scratch<Exec>::padded_channels(head_dim));
  }

  KOKKOS_INLINE_FUNCTION static void clear(const Partial& p, std::int32_t m) {
    for (std::int32_t c = 0; c < p.channels; ++c) p.out[m * p.channels + c] = 0;
    p.highest[m] = -Kokkos::Experimental::infinity_v<float>;
    p.sum[m] = 0;
  }
  KOKKOS_INLINE_FUNCTION static void copy(const Partial& from, const Partial& to, std::int32_t m) {
    for (std::int32_t c = 0; c < from.channels; ++c)
      to.out[m * from.channels + c] = from.out[m * from.channels + c];
    to.highest[m] = from.highest[m];
    to.sum[m] = from.sum[m];
  }

  /// function(m) for the rows of the work, shared out over the team; a barrier before and after.
  template <class Exec, class Team, class Function>
  KOKKOS_INLINE_FUNCTION static void for_each_row(const Team& team, const Scratch<Exec>& s,
                                                  const Function& function) {
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, s.rows), function);
    team.team_barrier();
  }
};

/// Attends to one part of one team's work, and leaves the partial sums in the workspace.
template <class Exec>
struct PartKernel : Kernel<Exec, Online> {
  using Team = typename Kernel<Exec, Online>::Team;
  std::int32_t n_parts;

  KOKKOS_INLINE_FUNCTION Partial partial(std::int64_t index, const Scratch<Exec>& s) const {
    const Arguments<Exec>& a = this->arguments;
    const std::int64_t floats = Split::partial_floats<Exec>(this->most_rows, a.cache.head_dim);
    return Partial::at(a.workspace.data() + index * floats, s.rows, s.channels);
  }

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    const std::int32_t part = team.league_rank() % n_parts;
    const Work w = work_of(this->arguments, team.league_rank() / n_parts);
    const Scratch<Exec> s = this->scratch(team, w);
    load_queries(team, this->arguments, w, s);
    const std::int32_t from = part * split_tokens<Exec>;
    Online::attend(team, this->arguments, w, s, from, from + split_tokens<Exec>);
    const Partial to = partial(team.league_rank(), s);
    Split::for_each_row(team, s, [&](std::int32_t m) { Split::copy(Partial::of(s), to, m); });
  }
};

/// Merges the parts of one team's work and writes its output.
template <class Exec>
struct MergeKernel : PartKernel<Exec> {
  using Team = typename PartKernel<Exec>::Team;

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    const Work w = work_of(this->arguments, team.league_rank());
    const Scratch<Exec> s = this->scratch(team, w);
    Split::for_each_row(team, s, [&](std::int32_t m) {
      clear_row(s, m);
      for (std::int32_t part = 0; part < this->n_parts; ++part)
        Partial::of(s).merge_row(
            this->partial(std::int64_t{team.league_rank()} * this->n_parts + part, s), m);
    });
    store_output(team, this->arguments, w, s);
  }
};

template <class Exec>
bool Split::launch_parts(const Exec& exec, const Arguments<Exec>& a, std::int32_t most_rows,
                         std::int32_t max_tokens) {
  const std::int32_t parts = n_parts(a.plan.max_context, split_tokens<Exec>);
  const std::int32_t league = league_size(a);
  if (parts == 1 || league >= most_split_work(a.teams)) return false;
  const PartKernel<Exec> part{make_kernel<Exec, Online>(a, most_rows, max_tokens), parts};
  run_kernel("kvmeter::attention::parts", exec, part, league * parts);
  run_kernel("kvmeter::attention::merge", exec, MergeKernel<Exec>{part}, league);
  return true;
}

}  // namespace kvmeter::attention

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Bodies of measure_bandwidth; included by its instantiations only.
#pragma once

#include <algorithm>
#include <vector>

#include "harness/exec/memory.hpp"
#include "harness/measure/clock.hpp"
#include "harness/measure/detail/read_buffer.hpp"
#include "harness/measure/detail/read_kernels.hpp"
#include "harness/measure/peak.hpp"
#include "harness/measure/statistics.hpp"
#include "harness/measure/timed.hpp"

namespace kvmeter::measure::detail {

/// Reads the first words of a buffer once and checks the sum.
template <class Exec>
class Reader {
 public:
  using MemorySpace = typename Exec::memory_space;

  Reader(const Exec& exec, const Words<Exec>& words) : m_exec(exec), m_words(words) {}

  [[nodiscard]] static std::vector<Pattern> patterns() {
    if constexpr (is_host_exec<Exec>)
      return {Pattern::chunks, Pattern::interleaved, Pattern::streams};
    else
      return {Pattern::coalesced};
  }

  std::uint64_t read(Pattern pattern, std::int64_t bytes) const {
    if (pattern == Pattern::chunks) return sum<Chunks>("kvmeter::peak::chunks", bytes);
    if (pattern == Pattern::interleaved)
      return sum<Interleaved>("kvmeter::peak::interleaved", bytes);
    if (pattern == Pattern::streams) return sum<Streams>("kvmeter::peak::streams", bytes);
    return sum<Coalesced>("kvmeter::peak::coalesced", bytes);
  }

 private:
  template <class Tag>
  std::uint64_t sum(const char* label, std::int64_t bytes) const {
    const std::int64_t n_workers = thread_count(m_exec);
    const bool by_pairs = std::is_same_v<Tag, Coalesced>;
    const ReadWords<MemorySpace> kernel{m_words, bytes / 8, n_workers};
    using Policy = Kokkos::RangePolicy<Exec, Tag, Kokkos::Schedule<Kokkos::Static>,
                                       Kokkos::IndexType<std::int64_t>>;
    std::uint64_t sum = 0;
    Kokkos::parallel_reduce(label, Policy(m_exec, 0, by_pairs ? bytes / 16 : n_workers), kernel,
                            sum);
    return sum;
  }

  Exec m_exec;
  Words<Exec> m_words;
};

/// The median bandwidth of some passes, less of them when time is short, but one at least.
template <class Exec>
double median_bandwidth(const Exec& exec, const Reader<Exec>& reader, Pattern pattern,
                        std::int64_t bytes, int passes, double seconds) {
  const std::uint64_t expected = reader.read(pattern, bytes);  // the warm-up
  // A small buffer is read for about 1 ms per pass, so that the clock and fences do not count.
  const double once_s = time_step(exec, [&] { reader.read(pattern, bytes); });
  const auto repeats = static_cast<std::int64_t>(std::clamp(1e-3 / once_s, 1.0, 1e3));
  const Stopwatch watch;
  std::vector<double> rates;
  do {
    std::uint64_t sum = 0;
    const double time_s = time_step(exec, [&] {
      for (std::int64_t i = 0; i < repeats; ++i) sum += reader.read(pattern, bytes);
    });
    KVMETER_EXPECTS(sum == expected * static_cast<std::uint64_t>(repeats),
                    "peak: two reads of one buffer differ");
    rates.push_back(static_cast<double>(bytes * repeats) / time_s);
  } while (static_cast<int>(rates.size()) < passes && watch.seconds() < seconds);
  return median(rates);
}

/// The best of all patterns.
template <class Exec>
CurvePoint best_pattern(const Exec& exec, const Reader<Exec>& reader, std::int64_t bytes,
                        Pages pages, int passes, double seconds) {
  const std::vector<Pattern> patterns = Reader<Exec>::patterns();
  CurvePoint best{.bytes = bytes, .pages = pages};
  for (const Pattern pattern : patterns) {
    const double rate = median_bandwidth(exec, reader, pattern, bytes, passes,
                                         seconds / static_cast<double>(patterns.size()));
    if (rate > best.bytes_per_s) {
      best.bytes_per_s = rate;
      best.pattern = pattern;
    }
  }
  return best;
}

template <class Exec>
void fill(const Exec& exec, const Words<Exec>& words) {
  using Policy =
      Kokkos::RangePolicy<Exec, Kokkos::Schedule<Kokkos::Static>, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for("kvmeter::peak::fill",
                       Policy(exec, 0, static_cast<std::int64_t>(words.extent(0))),
                       FillWords<typename Exec::memory_space>{words});
}

/// The curve on one kind of page. Every size is measured, however long the system takes to hand out
/// the memory (seconds per GiB where it is busy): a curve without its end would overrate main
/// memory.
template <class Exec>
std::vector<CurvePoint> bandwidth_curve(const Exec& exec, const PeakPlan& plan,
                                        const std::vector<std::int64_t>& sizes, Pages pages,
                                        double seconds) {
  const Stopwatch watch;
  const ReadBuffer<Exec> buffer(exec, sizes.back(), pages);
  fill(exec, buffer.words());
  exec.fence("kvmeter::measure::buffer_filled");
  const Reader<Exec> reader(exec, buffer.words());
  const double share_s = (seconds - watch.seconds()) / static_cast<double>(sizes.size());
  std::vector<CurvePoint> curve;
  for (const std::int64_t bytes : sizes)
    curve.push_back(best_pattern(exec, reader, bytes, pages, plan.passes, share_s));
  return curve;
}

/// The plan's sizes that fit into a quarter of the available memory, whole blocks; one at least.
inline std::vector<std::int64_t> usable_sizes(const PeakPlan& plan) {
  constexpr std::int64_t least = block_words * 8;
  const std::int64_t most = available_memory_bytes().value_or(std::int64_t{1} << 30) / 4;
  std::vector<std::int64_t> sizes;
  for (const std::int64_t bytes : plan.buffer_bytes)
    if (bytes <= most && bytes >= least) sizes.push_back(bytes / least * least);
  KVMETER_EXPECTS(!sizes.empty(), "peak: no buffer size fits into {} bytes", most);
  return sizes;
}

}  // namespace kvmeter::measure::detail

namespace kvmeter::measure {

template <class Exec>
std::vector<CurvePoint> measure_bandwidth(const Exec& exec, const PeakPlan& plan) {
  const std::vector<std::int64_t> sizes = detail::usable_sizes(plan);
  const std::vector<Pages> kinds = is_host_exec<Exec> ? plan.pages : std::vector{Pages::device};
  Peak best;
  for (const Pages pages : kinds)
    best = best_of(
        best, {detail::bandwidth_curve(exec, plan, sizes, pages,
                                       plan.bandwidth_seconds / static_cast<double>(kinds.size())),
               {}});
  return best.curve;
}

}  // namespace kvmeter::measure

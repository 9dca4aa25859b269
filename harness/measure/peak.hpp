// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The bounds of a machine, measured: how fast memory can be read, as a curve over the size of what
// is read, and how fast matrices of given shapes can be multiplied. Measured times stand beside
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/enums.hpp"
#include "harness/exec/threads.hpp"
#include "harness/measure/matmul_rate.hpp"

namespace kvmeter::measure {

enum class Pages { small, huge, device };
enum class Pattern {
  chunks,       // each thread reads one contiguous part
  interleaved,  // threads take 64 KiB blocks in turn
  streams,      // each thread reads several places of its part at once
  coalesced     // neighbouring device threads read neighbouring words
};
std::string_view name_of(Pages pages);
std::string_view name_of(Pattern pattern);

/// The best median bandwidth over pages and patterns at one buffer size.
struct CurvePoint {
  std::int64_t bytes = 0;
  double bytes_per_s = 0;
  Pages pages = Pages::small;
  Pattern pattern = Pattern::chunks;
};

struct Peak {
  std::vector<CurvePoint> curve;    // by rising bytes
  std::vector<MatmulRate> matmuls;  // every layout; empty where nothing measures them
};

/// What to measure, and for about how long.
struct PeakPlan {
  std::vector<std::int64_t> buffer_bytes;  // rising; cut to a quarter of the available memory
  std::vector<Pages> pages;                // on the host
  double bandwidth_seconds = 0;
  MatmulPlan matmuls;
  int passes = 7;  // that a median is over, where the time allows
};

/// About 15 s: 1 MiB to 2 GiB, 4 KiB and huge pages, both layouts.
PeakPlan full_plan(std::vector<MatmulShape> shapes, std::vector<Element> elements);

/// About 2 s, for the start of a run. The largest buffer is beyond any third-level cache.
/// \param most_bytes what a step reads at the most: buffers much beyond it are left out
PeakPlan quick_plan(std::vector<MatmulShape> shapes, std::vector<Element> elements,
                    std::int64_t most_bytes);

/// Bandwidth at a buffer of `bytes`: linear in log(bytes) between the curve's points, its ends
/// beyond them. None without a curve.
std::optional<double> read_bandwidth_at(const Peak& peak, double bytes);

/// At the largest buffer: what main memory gives.
std::optional<double> read_bandwidth(const Peak& peak);

/// FLOP/s of one forward pass through these shapes (each at its best layout, weighted by FLOPs);
/// shapes are found by their sizes. None if one of them was not measured.
std::optional<double> matmul_rate(const Peak& peak, Element element,
                                  std::span<const MatmulShape> shapes);

/// The better of both at every size and shape: before and after a run, as a peak that is too low
/// would call honest points implausible.
Peak best_of(const Peak& a, const Peak& b);

/// The curve of one execution space.
template <class Exec>
std::vector<CurvePoint> measure_bandwidth(const Exec& exec, const PeakPlan& plan);
#define KVMETER_DECLARE(Exec) \
  extern template std::vector<CurvePoint> measure_bandwidth(const Exec&, const PeakPlan&);
KVMETER_FOR_EACH_EXEC(KVMETER_DECLARE)
#undef KVMETER_DECLARE

/// The rates of the plan's shapes on the host, on as many threads as OpenMP gives to the caller; an
/// element that the library cannot multiply on this machine is left out.
std::vector<MatmulRate> measure_matmuls(const PeakPlan& plan);

/// "oneDNN 2.6.3": what measure_matmuls used.
std::string matmul_library();

template <class Exec>
Peak measure_peak(const Exec& exec, const PeakPlan& plan) {
  Peak peak;
  peak.curve = measure_bandwidth(exec, plan);
  if constexpr (is_host_exec<Exec>) {
    const ThreadLimit limit(thread_count(exec));
    peak.matmuls = measure_matmuls(plan.matmuls);
  }
  return peak;
}

}  // namespace kvmeter::measure

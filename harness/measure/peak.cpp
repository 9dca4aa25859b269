// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/peak.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace kvmeter::measure {
namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;

bool same_sizes(const MatmulShape& a, const MatmulShape& b) {
  return a.rows == b.rows && a.in_dim == b.in_dim && a.out_dim == b.out_dim;
}

/// Best rate over layouts, or 0.
double best_rate(const Peak& peak, Element element, const MatmulShape& shape) {
  double best = 0;
  for (const MatmulRate& rate : peak.matmuls)
    if (rate.element == element && same_sizes(rate.shape, shape))
      best = std::max(best, rate.flops_per_s);
  return best;
}

/// Adds each item, or keeps the faster of it and its twin.
template <class Item, class SameItem>
void merge(std::vector<Item>& into, const std::vector<Item>& items, double Item::*speed,
           SameItem same) {
  for (const Item& item : items) {
    const auto twin = std::ranges::find_if(into, [&](const Item& i) { return same(i, item); });
    if (twin == into.end())
      into.push_back(item);
    else if (item.*speed > (*twin).*speed)
      *twin = item;
  }
}

}  // namespace

std::string_view name_of(Pages pages) {
  static constexpr std::array<std::string_view, 3> names{"4 KiB", "huge", "device"};
  return names[static_cast<std::size_t>(pages)];
}

std::string_view name_of(Pattern pattern) {
  static constexpr std::array<std::string_view, 4> names{"chunks", "interleaved", "streams",
                                                         "coalesced"};
  return names[static_cast<std::size_t>(pattern)];
}

PeakPlan full_plan(std::vector<MatmulShape> shapes, std::vector<Element> elements) {
  return {.buffer_bytes = {mib, 4 * mib, 16 * mib, 64 * mib, 256 * mib, 1024 * mib, 2048 * mib},
          .pages = {Pages::small, Pages::huge},
          .bandwidth_seconds = 8,
          .matmuls = {std::move(shapes), std::move(elements), true, 7, 7},
          .passes = 7};
}

PeakPlan quick_plan(std::vector<MatmulShape> shapes, std::vector<Element> elements,
                    std::int64_t most_bytes) {
  std::vector<std::int64_t> buffers;
  for (const std::int64_t bytes : {mib, 16 * mib, 256 * mib, 2048 * mib}) {
    buffers.push_back(bytes);
    if (bytes >= most_bytes) break;
  }
  return {.buffer_bytes = std::move(buffers),
          .pages = {Pages::huge},  // never the slower ones; where there are none it gets small ones
          .bandwidth_seconds = 0.8,
          .matmuls = {std::move(shapes), std::move(elements), false, 0.7, 5},
          .passes = 5};
}

std::optional<double> read_bandwidth_at(const Peak& peak, double bytes) {
  const auto& curve = peak.curve;
  if (curve.empty()) return std::nullopt;
  const auto size = [](const CurvePoint& point) { return static_cast<double>(point.bytes); };
  const auto above = std::ranges::find_if(curve, [&](auto& p) { return size(p) >= bytes; });
  if (above == curve.end()) return curve.back().bytes_per_s;
  if (above == curve.begin()) return curve.front().bytes_per_s;
  const CurvePoint& low = *(above - 1);
  const double share = std::log(bytes / size(low)) / std::log(size(*above) / size(low));
  return low.bytes_per_s + share * (above->bytes_per_s - low.bytes_per_s);
}

std::optional<double> read_bandwidth(const Peak& peak) {
  if (peak.curve.empty()) return std::nullopt;
  return peak.curve.back().bytes_per_s;
}

std::optional<double> matmul_rate(const Peak& peak, Element element,
                                  std::span<const MatmulShape> shapes) {
  double flops = 0;
  double seconds = 0;
  for (const MatmulShape& shape : shapes) {
    const double rate = best_rate(peak, element, shape);
    if (!(rate > 0)) return std::nullopt;
    const double work = static_cast<double>(shape.count) * shape.flops();
    flops += work;
    seconds += work / rate;
  }
  if (!(seconds > 0)) return std::nullopt;
  return flops / seconds;
}

Peak best_of(const Peak& a, const Peak& b) {
  Peak best = a;
  merge(best.curve, b.curve, &CurvePoint::bytes_per_s,
        [](const CurvePoint& x, const CurvePoint& y) { return x.bytes == y.bytes; });
  std::ranges::sort(best.curve, {}, &CurvePoint::bytes);
  merge(best.matmuls, b.matmuls, &MatmulRate::flops_per_s,
        [](const MatmulRate& x, const MatmulRate& y) {
          return x.element == y.element && x.layout == y.layout && same_sizes(x.shape, y.shape);
        });
  return best;
}

}  // namespace kvmeter::measure

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace kvmeter::measure {
namespace {

std::vector<double> sorted(std::span<const double> samples) {
  std::vector<double> copy(samples.begin(), samples.end());
  std::ranges::sort(copy);
  return copy;
}

/// \pre sorted, not empty
double sorted_quantile(std::span<const double> x, double p) {
  const double at = p * static_cast<double>(x.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, x.size() - 1);
  return x[below] + (at - std::floor(at)) * (x[above] - x[below]);
}

struct Rank {
  std::size_t k = 0;    // x(k) to x(n+1-k), counted from 1; 0: no such interval
  double coverage = 0;  // 1 - 2 P(B <= k-1), B binomial (n, 1/2)
};

/// The largest k that still covers `confidence`.
Rank interval_rank(std::size_t n, double confidence) {
  const auto size = static_cast<double>(n);
  Rank best;
  double below = 0;  // P(B <= k-1)
  for (std::size_t k = 1; 2 * k <= n; ++k) {
    const auto i = static_cast<double>(k - 1);
    below += std::exp(std::lgamma(size + 1) - std::lgamma(i + 1) - std::lgamma(size - i + 1) -
                      size * std::log(2.0));
    if (1 - 2 * below < confidence) break;
    best = {k, 1 - 2 * below};
  }
  return best;
}

}  // namespace

double quantile(std::span<const double> samples, double p) {
  if (samples.empty()) return std::numeric_limits<double>::quiet_NaN();
  return sorted_quantile(sorted(samples), p);
}

double median(std::span<const double> samples) {
  return quantile(samples, 0.5);
}

std::optional<Interval> median_interval(std::span<const double> samples, double confidence) {
  const Rank rank = interval_rank(samples.size(), confidence);
  if (rank.k == 0) return std::nullopt;
  const std::vector<double> x = sorted(samples);
  return Interval{x[rank.k - 1], x[x.size() - rank.k], rank.coverage};
}

std::optional<double> relative_noise(std::span<const double> samples) {
  const auto interval = median_interval(samples, 0.95);
  const double middle = median(samples);
  if (!interval || !(middle > 0)) return std::nullopt;
  return (interval->high - interval->low) / (2 * 1.96) / middle;
}

std::optional<PowerLaw> power_law(std::span<const double> x, std::span<const double> y) {
  const auto positive = [](double value) { return value > 0; };
  if (!std::ranges::all_of(x, positive) || !std::ranges::all_of(y, positive)) return std::nullopt;
  const auto first = [&](double value) { return value == x.front(); };
  if (std::ranges::all_of(x, first)) return std::nullopt;
  const auto n = static_cast<double>(x.size());
  double mean_x = 0, mean_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += std::log(x[i]) / n;
    mean_y += std::log(y[i]) / n;
  }
  double xx = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (std::log(x[i]) - mean_x) * (std::log(x[i]) - mean_x);
    xy += (std::log(x[i]) - mean_x) * (std::log(y[i]) - mean_y);
  }
  return PowerLaw{xy / xx, std::exp(mean_y - xy / xx * mean_x)};
}

}  // namespace kvmeter::measure

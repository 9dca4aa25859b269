// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Statistics of samples whose distribution nobody knows: order statistics only, no assumption of a
// normal distribution. They describe independent samples; a drift shows in none of them. And the
// power law through points that follow one.
#pragma once

#include <optional>
#include <span>

namespace kvmeter::measure {

/// The value below which a share p of the samples lies, linear between neighbours (type 7 of
/// Hyndman and Fan 1996, what numpy does). NaN without samples. \pre 0 <= p <= 1
double quantile(std::span<const double> samples, double p);
double median(std::span<const double> samples);

struct Interval {
  double low = 0;
  double high = 0;
  double coverage = 0;  // how often such an interval holds the true median: at least what was asked
};

/// The narrowest interval [x(k), x(n+1-k)] of order statistics that holds the distribution's median
/// with probability >= confidence: the number of samples below it is binomial (n, 1/2). None for so
/// few samples that not even their range does (fewer than 6 at 0.95).
std::optional<Interval> median_interval(std::span<const double> samples, double confidence = 0.95);

/// Standard error of the median over the median, from the width of its 95 % interval (a normal one
/// would be 2 x 1.96 errors wide). As the interval covers more than 95 % when samples are few, it
/// errs upwards. None where there is no interval or the median is not positive.
std::optional<double> relative_noise(std::span<const double> samples);

/// y = factor x x^exponent, by least squares of log y over log x. None unless x takes two values
/// and all of x and y are positive. \pre as many x as y
struct PowerLaw {
  double exponent = 0;
  double factor = 0;
};
std::optional<PowerLaw> power_law(std::span<const double> x, std::span<const double> y);

}  // namespace kvmeter::measure

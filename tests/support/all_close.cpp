// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/all_close.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

namespace kvmeter::test {
namespace {

double excess_of(double value, double reference, double bound) {
  if (value == reference) return 0;
  const double difference = std::abs(value - reference);
  if (!std::isfinite(difference) || !(bound > 0)) return std::numeric_limits<double>::infinity();
  return difference / bound;
}

/// Coordinates of a flat index: 7 in [2, 5] is [1, 2].
std::vector<std::int64_t> coordinates(std::size_t index, const std::vector<std::int64_t>& shape) {
  auto rest = static_cast<std::int64_t>(index);
  std::vector<std::int64_t> at(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    at[axis] = rest % shape[axis];
    rest /= shape[axis];
  }
  return at;
}

}  // namespace

Worst find_worst(std::span<const double> values, std::span<const double> reference,
                 std::span<const double> bounds) {
  Worst worst;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double excess = excess_of(values[i], reference[i], bounds[i]);
    if (excess > worst.excess) worst = {i, values[i], reference[i], bounds[i], excess};
  }
  return worst;
}

bool AllCloseMatcher::match_values(const std::vector<double>& values) const {
  n_values_ = values.size();
  worst_.reset();
  if (values.size() != reference_.size() || reference_.size() != bounds_.size()) return false;
  worst_ = find_worst(values, reference_, bounds_);
  return worst_->excess <= 1;
}

std::string AllCloseMatcher::describe() const {
  if (!worst_)
    return fmt::format("has {} elements, the reference {} and its bounds {}", n_values_,
                       reference_.size(), bounds_.size());
  const auto at = shape_.empty()
                      ? std::vector<std::int64_t>{static_cast<std::int64_t>(worst_->index)}
                      : coordinates(worst_->index, shape_);
  return fmt::format(
      "is close to the reference: worst of {} at [{}]: {:.9g}, reference {:.9g}, difference {:.3g} "
      "of the allowed {:.3g}",
      n_values_, fmt::join(at, ", "), worst_->value, worst_->reference,
      std::abs(worst_->value - worst_->reference), worst_->bound);
}

double max_abs(std::span<const double> values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

}  // namespace kvmeter::test

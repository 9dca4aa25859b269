// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The Catch2 matcher for tensors: REQUIRE_THAT(values, AllClose(reference, bound)). It says which
// element is worst, by how much, and where it is.
#pragma once

#include <catch2/matchers/catch_matchers_templated.hpp>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace kvmeter::test {

/// The element furthest beyond its bound, or nearest to it.
struct Worst {
  std::size_t index = 0;
  double value = 0;
  double reference = 0;
  double bound = 0;
  double excess = -1;  // |value - reference| / bound; infinite where either is not finite
};

/// The worst element of two arrays of one length. NaN equals nothing; infinities of one sign are
/// equal. A bound of 0 asks for equal values.
Worst find_worst(std::span<const double> values, std::span<const double> reference,
                 std::span<const double> bounds);

class AllCloseMatcher : public Catch::Matchers::MatcherGenericBase {
 public:
  AllCloseMatcher(std::vector<double> reference, std::vector<double> bounds,
                  std::vector<std::int64_t> shape)
      : reference_(std::move(reference)), bounds_(std::move(bounds)), shape_(std::move(shape)) {}

  /// Any range of numbers: std::vector, std::span, of float or double.
  template <class Range>
  bool match(const Range& range) const {
    return match_values(std::vector<double>(range.begin(), range.end()));
  }

  [[nodiscard]] std::string describe() const override;

 private:
  [[nodiscard]] bool match_values(const std::vector<double>& values) const;

  std::vector<double> reference_;
  std::vector<double> bounds_;
  std::vector<std::int64_t> shape_;  // to print an index as coordinates; empty: flat
  mutable std::size_t n_values_ = 0;
  mutable std::optional<Worst> worst_;  // of the last match
};

/// Every element within `bound` of the reference. `shape` only makes the message readable.
inline AllCloseMatcher AllClose(std::span<const double> reference, double bound,
                                std::vector<std::int64_t> shape = {}) {
  return {{reference.begin(), reference.end()},
          std::vector<double>(reference.size(), bound),
          std::move(shape)};
}

/// Every element i within `bounds[i]`.
inline AllCloseMatcher AllClose(std::span<const double> reference, std::span<const double> bounds,
                                std::vector<std::int64_t> shape = {}) {
  return {{reference.begin(), reference.end()}, {bounds.begin(), bounds.end()}, std::move(shape)};
}

/// Largest magnitude of a tensor: what relative bounds refer to.
double max_abs(std::span<const double> values);

}  // namespace kvmeter::test

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The law of work: with a cache n tokens cost n computations of K and V in each layer, without one
// 1 + 2 + ... + n.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/core/record.hpp"

namespace kvmeter::laws {

/// Tokens of a sequence that have K and V at the end of a generation: the last is never fed back.
std::int64_t tokens_at_end(const Point& point);

/// K and V computations of one layer for the whole batch that a generation of this point takes, all
/// of new_tokens generated.
std::int64_t expected_projections(const Point& point);

/// Did, or may, a sequence have ended before new_tokens? Then nothing is expected.
bool may_have_ended_early(const PointRecord& record);

/// Points that differ in new_tokens only: how computations and time grow with the tokens at the
/// end.
struct Growth {
  Point point;                    // any of them
  std::int64_t from = 0, to = 0;  // tokens
  std::size_t n_points = 0;
  std::optional<double> projections;  // exponent
  std::optional<double> total_s;      // exponent
};

/// \param records ok ones
std::vector<Growth> growth_of(std::span<const PointRecord* const> records);

}  // namespace kvmeter::laws

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// A sweep as it was written, before it becomes points: the same for files and flags.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/point.hpp"
#include "harness/workload/detail/mistakes.hpp"
#include "harness/workload/sweep.hpp"

namespace kvmeter::sweep_detail {

/// The values of one name, in order.
struct Column {
  std::string name;                   // as written; an alias sets several keys
  std::vector<const PointKey*> keys;  // [1], of an alias more; an override may take one away
  std::vector<PointValue> values;
  Place place;
  bool faulty = false;  // some values are placeholders, the mistake is noted
};

/// Columns that advance together: one for [fixed] (a single value) and [axes], several for [[zip]].
struct Axis {
  std::vector<Column> columns;
  Place place;
  bool merge_equal_rows = false;  // an override took a column away

  [[nodiscard]] std::size_t size() const { return columns.front().values.size(); }
};

/// Points where every column has one of its values are skipped.
struct SkipRule {
  std::vector<Column> when;
  std::string because;
};

struct Spec {
  Sweep sweep;  // all but the points
  std::vector<Axis>
      axes;  // fixed values first, then axes, then zips, each in order; the last is fastest
  std::vector<SkipRule> skips;
};

}  // namespace kvmeter::sweep_detail

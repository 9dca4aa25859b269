// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The rows of the schema as they are written down, in one place per table.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "harness/record/schema.hpp"

namespace kvmeter::detail {

struct Row {
  std::string_view name;
  ValueType type;
  std::string_view units;
  std::string_view description;
  std::span<const std::string_view> meanings = {};
};

inline constexpr auto boolean_names = std::to_array<std::string_view>({"false", "true"});

std::span<const Row> field_rows();     // members of PointRecord
std::span<const Row> key_rows();       // units and choices of point keys; descriptions are theirs
std::span<const Row> measured_rows();  // what a point's values may hold
std::span<const Row> sample_rows();
std::span<const Row> attribute_rows();

}  // namespace kvmeter::detail

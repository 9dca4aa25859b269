// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Turns records into the columns of a file: one array per variable, missing values filled in,
// choices as codes. Pure functions of their arguments; knows no file format.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "harness/core/record.hpp"
#include "harness/record/schema.hpp"

namespace kvmeter::detail {

using Values = std::variant<std::vector<std::int64_t>, std::vector<double>,
                            std::vector<std::string>, std::vector<std::int8_t>>;

struct Column {
  const Variable* variable = nullptr;
  Values values;                      // [point] or [sample]
  std::vector<std::string> meanings;  // of a choice: names by code
};

/// One column per variable of the schema, in its order.
std::vector<Column> point_columns(std::span<const PointRecord> records,
                                  const Vocabulary& vocabulary);
std::vector<Column> sample_columns(std::span<const PointRecord> records);

/// Valid UTF-8 without zero bytes: what a text in the file has to be. Bad bytes become U+FFFD.
std::string clean_text(const std::string& text);

}  // namespace kvmeter::detail

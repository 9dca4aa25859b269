// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/record/detail/read_cells.hpp"

#include <cmath>
#include <map>
#include <sstream>

#include "harness/core/error.hpp"

namespace kvmeter::detail {
namespace {

/// The file's own names of a choice by code. A choice that no point has may have none.
std::map<std::int8_t, std::string> names_by_code(const h5::Dataset& dataset) {
  std::map<std::int8_t, std::string> names;
  if (!h5::has_attribute(dataset.id(), "flag_meanings")) return names;
  std::istringstream meanings(h5::read_text_attribute(dataset.id(), "flag_meanings"));
  for (const std::int8_t code : h5::read_attribute<std::int8_t>(dataset.id(), "flag_values"))
    meanings >> names[code];
  return names;
}

std::vector<Cell> choice_cells(const h5::Dataset& dataset, const std::string& path,
                               const Variable& variable) {
  const std::map<std::int8_t, std::string> names = names_by_code(dataset);
  std::vector<Cell> cells;
  for (const std::int8_t code : h5::read<std::int8_t>(dataset, variable.name)) {
    Cell& cell = cells.emplace_back();
    if (code == missing_choice) continue;
    const auto name = names.find(code);
    KVMETER_EXPECTS(name != names.end(), "{}: {} has a code {} that its flag_values lack", path,
                    variable.name, code);
    cell = name->second;
  }
  return cells;
}

template <class T, class IsMissing>
std::vector<Cell> cells_of(const std::vector<T>& values, const IsMissing& missing) {
  std::vector<Cell> cells(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!missing(values[i])) cells[i].emplace(values[i]);
  return cells;
}

}  // namespace

std::vector<Cell> read_cells(const h5::Dataset& dataset, const std::string& path,
                             const Variable& variable) {
  switch (variable.type) {
    case ValueType::int64:
      return cells_of(h5::read<std::int64_t>(dataset, variable.name),
                      [](std::int64_t value) { return value == missing_int64; });
    case ValueType::real:
      return cells_of(h5::read<double>(dataset, variable.name),
                      [](double value) { return std::isnan(value); });
    case ValueType::text:
      return cells_of(h5::read_text(dataset, variable.name),
                      [](const std::string& value) { return value.empty(); });
    case ValueType::choice:
      break;
  }
  return choice_cells(dataset, path, variable);
}

}  // namespace kvmeter::detail

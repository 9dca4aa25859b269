// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/record/schema.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "harness/core/error.hpp"
#include "harness/core/point.hpp"
#include "harness/record/detail/schema_rows.hpp"

namespace kvmeter {
namespace {

constexpr std::string_view kEffective = "effective_";

Variable from_row(const detail::Row& row, Source source) {
  return {std::string(row.name),
          row.type,
          std::string(row.units),
          std::string(row.description),
          {row.meanings.begin(), row.meanings.end()},
          source};
}

/// What the type of a key's member says, where no row says more.
detail::Row row_of_key(const PointKey& key) {
  for (const detail::Row& row : detail::key_rows())
    if (row.name == key.name) return row;
  if (std::holds_alternative<std::string Point::*>(key.field))
    return {key.name, ValueType::text, "", ""};
  if (std::holds_alternative<bool Point::*>(key.field))
    return {key.name, ValueType::choice, "", "", detail::boolean_names};
  const bool real = std::holds_alternative<double Point::*>(key.field);
  return {key.name, real ? ValueType::real : ValueType::int64, "1", ""};
}

Variable key_variable(const PointKey& key) {
  Variable variable = from_row(row_of_key(key), Source::key);
  variable.description = fmt::format("requested: {}", key.help);
  if (variable.meanings.empty()) variable.description += fmt::format("; {}", key.values);
  return variable;
}

std::vector<Variable> make_point_variables() {
  std::vector<Variable> all;
  for (const detail::Row& row : detail::field_rows()) all.push_back(from_row(row, Source::field));
  for (const PointKey& key : point_keys()) all.push_back(key_variable(key));
  for (const detail::Row& row : detail::measured_rows())
    all.push_back(from_row(row, Source::measured));
  return all;
}

std::vector<Variable> make_variables(std::span<const detail::Row> rows, Source source) {
  std::vector<Variable> all;
  for (const detail::Row& row : rows) all.push_back(from_row(row, source));
  return all;
}

/// Whole numbers are fine where real ones are expected, not the other way round.
bool fits(ValueType type, const RecordValue& value) {
  if (std::holds_alternative<std::string>(value))
    return type == ValueType::text || type == ValueType::choice;
  if (is_missing(value)) return type == ValueType::real || type == ValueType::int64;
  return type == ValueType::real ||
         (type == ValueType::int64 && std::holds_alternative<std::int64_t>(value));
}

void check_choice(const Variable& variable, const RecordValue& value) {
  if (variable.type != ValueType::choice || variable.meanings.empty()) return;
  const auto& name = std::get<std::string>(value);
  KVMETER_EXPECTS(std::ranges::find(variable.meanings, name) != variable.meanings.end(),
                  "{} = '{}': not in the schema; it has: {}", variable.name, name,
                  fmt::join(variable.meanings, ", "));
}

}  // namespace

std::span<const Variable> point_variables() {
  static const std::vector<Variable> all = make_point_variables();
  return all;
}

std::span<const Variable> sample_variables() {
  static const std::vector<Variable> all = make_variables(detail::sample_rows(), Source::sample);
  return all;
}

std::span<const Variable> attribute_variables() {
  static const std::vector<Variable> all =
      make_variables(detail::attribute_rows(), Source::attribute);
  return all;
}

const Variable* find_point_variable(std::string_view name) {
  static const std::map<std::string, const Variable*, std::less<>> index = [] {
    std::map<std::string, const Variable*, std::less<>> by_name;
    for (const Variable& variable : point_variables()) by_name[variable.name] = &variable;
    return by_name;
  }();
  const auto found = index.find(name);
  return found == index.end() ? nullptr : found->second;
}

std::string vocabulary_key(const Variable& variable) {
  const std::string_view name = variable.name;
  return std::string(name.starts_with(kEffective) ? name.substr(kEffective.size()) : name);
}

void check_record(const PointRecord& record) {
  for (const auto& [name, value] : record.values) {
    const Variable* variable = find_point_variable(name);
    KVMETER_EXPECTS(variable != nullptr, "'{}' is not a variable of the result schema", name);
    KVMETER_EXPECTS(variable->source == Source::measured,
                    "'{}' is not among the values of a record: it has a member of its own", name);
    KVMETER_EXPECTS(fits(variable->type, value), "'{}' has a value of the wrong type", name);
    check_choice(*variable, value);
  }
}

void check_attributes(const Attributes& attributes) {
  for (const auto& [name, value] : attributes) {
    const auto known = attribute_variables();
    const auto found = std::ranges::find(known, name, &Variable::name);
    KVMETER_EXPECTS(found != known.end(), "'{}' is not a global attribute of the result schema",
                    name);
    KVMETER_EXPECTS(fits(found->type, value), "attribute '{}' has a value of the wrong type", name);
  }
}

bool is_missing(const RecordValue& value) {
  const auto* real = std::get_if<double>(&value);
  return real != nullptr && !std::isfinite(*real);
}

}  // namespace kvmeter

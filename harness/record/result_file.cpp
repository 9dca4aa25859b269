// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/record/result_file.hpp"

#include <fmt/ranges.h>

#include <fstream>
#include <limits>
#include <numeric>
#include <string_view>
#include <vector>

#include "harness/core/error.hpp"
#include "harness/record/detail/columns.hpp"
#include "harness/record/durable_file.hpp"
#include "harness/record/h5.hpp"

namespace kvmeter {
namespace {

using detail::Column;

template <class T>
void write_one(hid_t object, const std::string& name, T value) {
  h5::write_attribute<T>(object, name, std::span<const T>(&value, 1));
}

struct Dimension {
  h5::Dataset scale;
  h5::Layout layout;  // of the variables along it
};

/// A dimension with its coordinate variable 0, 1, 2, ..., as netCDF-4 has it.
Dimension write_dimension(const h5::File& file, const std::string& name, h5::Layout layout,
                          std::string_view description) {
  auto dataset = h5::create_dataset<std::int64_t>(file, name, layout);
  std::vector<std::int64_t> index(layout.size);
  std::iota(index.begin(), index.end(), std::int64_t{0});
  h5::write<std::int64_t>(dataset, index);
  h5::make_scale(dataset, name);
  h5::write_attribute(dataset.id(), "long_name", description);
  h5::write_attribute(dataset.id(), "units", "1");
  return {std::move(dataset), layout};
}

/// The fill value of a variable whose values can be missing; NaN needs no explaining to readers,
/// but netCDF wants it declared.
template <class T>
T fill_value() {
  if constexpr (std::is_same_v<T, double>)
    return std::numeric_limits<double>::quiet_NaN();
  else if constexpr (std::is_same_v<T, std::int8_t>)
    return missing_choice;
  else
    return missing_int64;
}

bool can_be_missing(const Variable& variable) {
  return variable.source == Source::measured ||
         (variable.source == Source::sample && variable.type == ValueType::real);
}

template <class T>
h5::Dataset write_values(const h5::File& file, const Variable& variable, h5::Layout layout,
                         const std::vector<T>& values) {
  if (!can_be_missing(variable)) {
    auto dataset = h5::create_dataset<T>(file, variable.name, layout);
    h5::write<T>(dataset, values);
    return dataset;
  }
  auto dataset = h5::create_dataset<T>(file, variable.name, layout, fill_value<T>());
  h5::write<T>(dataset, values);
  write_one<T>(dataset.id(), "_FillValue", fill_value<T>());
  return dataset;
}

h5::Dataset write_values(const h5::File& file, const Variable& variable, h5::Layout layout,
                         const std::vector<std::string>& values) {
  auto dataset = h5::create_text_dataset(file, variable.name, {layout.size, false});
  h5::write(dataset, values);
  return dataset;
}

void describe(const h5::Dataset& dataset, const Column& column) {
  const Variable& variable = *column.variable;
  h5::write_attribute(dataset.id(), "long_name", variable.description);
  if (!variable.units.empty()) h5::write_attribute(dataset.id(), "units", variable.units);
  if (variable.source == Source::key) h5::write_attribute(dataset.id(), "role", "key");
  if (variable.type != ValueType::choice || column.meanings.empty()) return;
  std::vector<std::int8_t> codes(column.meanings.size());
  std::iota(codes.begin(), codes.end(), std::int8_t{0});
  h5::write_attribute<std::int8_t>(dataset.id(), "flag_values", codes);
  h5::write_attribute(dataset.id(), "flag_meanings",
                      fmt::format("{}", fmt::join(column.meanings, " ")));
}

void write_columns(const h5::File& file, std::span<const Column> columns,
                   const Dimension& dimension) {
  for (const Column& column : columns) {
    const auto dataset = std::visit(
        [&](const auto& values) {
          return write_values(file, *column.variable, dimension.layout, values);
        },
        column.values);
    describe(dataset, column);
    h5::attach_scale(dataset, dimension.scale);
  }
}

void write_global(const h5::File& file, const std::string& name, const RecordValue& value) {
  if (is_missing(value)) return;
  if (const auto* text = std::get_if<std::string>(&value))
    h5::write_attribute(file.id(), name, detail::clean_text(*text));
  else if (const auto* whole = std::get_if<std::int64_t>(&value))
    write_one<std::int64_t>(file.id(), name, *whole);
  else
    write_one<double>(file.id(), name, std::get<double>(value));
}

/// Global attributes in the order of the schema.
void write_globals(const h5::File& file, Attributes attributes) {
  attributes["schema_version"] = schema_version;
  for (const Variable& variable : attribute_variables())
    if (const auto found = attributes.find(variable.name); found != attributes.end())
      write_global(file, found->first, found->second);
}

}  // namespace

void check_replaceable(const std::filesystem::path& path) {
  check_writable(path);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored) || std::filesystem::is_empty(path, ignored)) return;
  const h5::Silence silence;
  const h5::File file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT));
  const bool ours = file.id() >= 0 && H5Lexists(file.id(), "point_hash", H5P_DEFAULT) > 0;
  KVMETER_EXPECTS(ours, "{}: is there already and is no result file; choose another name",
                  path.string());
}

std::string result_library() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  H5get_libversion(&major, &minor, &release);
  return fmt::format("HDF5 {}.{}.{}", major, minor, release);
}

void write_result(const std::filesystem::path& path, std::span<const PointRecord> records,
                  const Attributes& attributes, const Vocabulary& vocabulary) {
  for (const PointRecord& record : records) check_record(record);
  check_attributes(attributes);
  const std::size_t n_samples = std::accumulate(
      records.begin(), records.end(), std::size_t{0},
      [](std::size_t sum, const auto& record) { return sum + record.samples.size(); });
  const h5::Silence silence;
  const h5::File file = h5::create_in_memory(path.string() + " (being written)");
  write_globals(file, attributes);
  const auto point = write_dimension(file, "point", {records.size(), false}, "point of the sweep");
  const auto sample = write_dimension(file, "sample", {n_samples, true}, "timed step");
  write_columns(file, detail::point_columns(records, vocabulary), point);
  write_columns(file, detail::sample_columns(records), sample);
  write_durably(path, h5::image(file));
}

}  // namespace kvmeter

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>

#include "harness/record/schema.hpp"

namespace kvmeter {
namespace {

constexpr std::string_view kIntroduction = R"(# What a result file holds

Made from the tables in `harness/record/` by `print_schema`; a test compares the two:

    build/cpu/tests/harness/record/print_schema > results/SCHEMA.md

A result file is HDF5 and legal netCDF-4: `xarray.open_dataset("out.h5")`, `netCDF4.Dataset`,
`h5py.File`, `ncdump` and `h5dump` open it as it is. Schema version {}.

- Dimension `point`: one entry per point of the sweep. Dimension `sample`: the raw samples of all
  points, tied to them by `sample_point`.
- Types: `int64`, `real` (double), `text` (UTF-8 string), `choice` (int8 code; its names are in the
  attribute `flag_meanings`, its codes in `flag_values`).
- What was asked for, the point keys, has the attribute `role` = "key"; `effective_...` says what
  really ran.
- Missing is not zero: `_FillValue` for `int64` ({}) and `choice` (-1), NaN for `real`, an empty
  string for `text`. What was not honestly measured is missing.
- Seconds and bytes only. A matmul rate counts a multiplication and an addition as two operations.
)";

std::string_view type_name(ValueType type) {
  switch (type) {
    case ValueType::int64:
      return "int64";
    case ValueType::real:
      return "real";
    case ValueType::text:
      return "text";
    case ValueType::choice:
      return "choice";
  }
  return "";
}

/// A vertical bar would end a table cell.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return escaped;
}

std::string names(const Variable& variable) {
  if (variable.type != ValueType::choice) return "";
  if (!variable.meanings.empty()) return fmt::format(": {}", fmt::join(variable.meanings, ", "));
  return variable.source == Source::key ? "" : ": names as of the key";
}

void add_table(std::string& text, std::string_view title, std::span<const Variable> variables) {
  auto out = std::back_inserter(text);
  fmt::format_to(out, "\n## {}\n\n| name | type | unit | meaning |\n|---|---|---|---|\n", title);
  for (const Variable& variable : variables)
    fmt::format_to(out, "| `{}` | {} | {} | {}{} |\n", variable.name, type_name(variable.type),
                   variable.units, cell(variable.description), cell(names(variable)));
}

}  // namespace

std::string schema_markdown() {
  std::string text = fmt::format(kIntroduction, schema_version, missing_int64);
  add_table(text, "Per point", point_variables());
  add_table(text, "Per sample", sample_variables());
  add_table(text, "Global attributes", attribute_variables());
  return text;
}

}  // namespace kvmeter

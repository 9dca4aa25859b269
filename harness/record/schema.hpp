// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What a result file can hold: one table each of per-point variables, per-sample variables and
// global attributes, with types, units and descriptions. A new variable is one row. Point keys are
// variables too and come from harness/core/point.hpp.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/record.hpp"

namespace kvmeter {

/// Part of every file and of every point's hash; raised when the meaning of a variable changes.
inline constexpr std::int64_t schema_version = 1;

/// What stands in a file for a missing value; NaN for real ones, an empty string for text.
inline constexpr std::int64_t missing_int64 = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int8_t missing_choice = -1;

enum class ValueType { int64, real, text, choice };  // a choice is stored as an int8 code

/// Where the value of a variable comes from.
enum class Source {
  field,     // a member of PointRecord: point_hash, status, message
  key,       // PointRecord::point, as requested
  measured,  // PointRecord::values; may be missing
  sample,    // PointRecord::samples
  attribute  // Attributes
};

struct Variable {
  std::string name;
  ValueType type;
  std::string units;        // UDUNITS spelling; empty for text and choices
  std::string description;  // one line
  std::vector<std::string>
      meanings;  // of a choice, by code; empty: the caller's Vocabulary has them
  Source source = Source::measured;
};

/// The names by code of choices whose sets are open (placements, codecs, attentions). Keys are
/// point keys: "cache", "k_element", "v_element", "attention"; `effective_` twins share them.
struct Vocabulary {
  std::map<std::string, std::vector<std::string>> names;
};

std::span<const Variable> point_variables();   // in the order of the file
std::span<const Variable> sample_variables();  // in the order of the file
std::span<const Variable> attribute_variables();

/// The per-point variable of this name, or nullptr.
const Variable* find_point_variable(std::string_view name);

/// The key of Vocabulary that names the codes of an open choice: its name without "effective_".
std::string vocabulary_key(const Variable& variable);

/// Throws Error if a value's name is not a measured variable or its type does not fit: a
/// programming mistake, found when the record is journaled rather than when the file is written.
void check_record(const PointRecord& record);

/// The same for global attributes.
void check_attributes(const Attributes& attributes);

/// True for what stands for "not measured": NaN and infinities. They are stored as missing.
bool is_missing(const RecordValue& value);

/// The tables as a Markdown document: results/SCHEMA.md, which a test holds to this.
std::string schema_markdown();

}  // namespace kvmeter

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/record/detail/columns.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/core/error.hpp"

namespace kvmeter::detail {
namespace {

constexpr double kMissingReal = std::numeric_limits<double>::quiet_NaN();

using Cell = std::optional<RecordValue>;

/// Gives names their codes. An open set grows by names that the caller's vocabulary lacks: journals
/// of a program built with other variants can be merged, the file carries the names.
class Codes {
 public:
  Codes(const Variable& variable, const Vocabulary& vocabulary)
      : m_variable(variable), m_names(variable.meanings) {
    if (!m_names.empty()) return;
    m_is_open = true;
    const auto found = vocabulary.names.find(vocabulary_key(variable));
    if (found != vocabulary.names.end()) m_names = found->second;
  }

  std::int8_t code(const std::string& name) {
    const auto found = std::ranges::find(m_names, name);
    const auto code = static_cast<std::size_t>(found - m_names.begin());
    if (found == m_names.end()) append(name);
    return static_cast<std::int8_t>(code);
  }

  const std::vector<std::string>& names() const { return m_names; }

 private:
  void append(const std::string& name) {
    KVMETER_EXPECTS(m_is_open, "{} = '{}': not in the schema; it has: {}", m_variable.name, name,
                    fmt::join(m_names, ", "));
    KVMETER_EXPECTS(!name.empty() && name.find_first_of(" \t\n") == std::string::npos,
                    "{} = '{}': a name with blanks cannot be stored", m_variable.name, name);
    KVMETER_EXPECTS(m_names.size() < 127, "{} has too many names", m_variable.name);
    m_names.push_back(name);
  }

  const Variable& m_variable;
  std::vector<std::string> m_names;
  bool m_is_open = false;
};

Cell key_cell(const Point& point, const std::string& name) {
  const PointValue value = get(point, *find_point_key(name));
  if (const auto* flag = std::get_if<bool>(&value)) return std::string(*flag ? "true" : "false");
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::get<std::string>(value);
}

Cell field_cell(const PointRecord& record, const std::string& name) {
  if (name == "point_hash") return record.point_hash;
  if (name == "status") return std::string(name_of(record.status));
  if (name == "message") return record.message;
  fail("the schema has a field '{}' that records lack", name);
}

Cell cell(const PointRecord& record, const Variable& variable) {
  if (variable.source == Source::field) return field_cell(record, variable.name);
  if (variable.source == Source::key) return key_cell(record.point, variable.name);
  const auto found = record.values.find(variable.name);
  if (found == record.values.end() || is_missing(found->second)) return std::nullopt;
  return found->second;
}

double to_real(const RecordValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  return std::get<double>(value);
}

template <class T, class Convert>
std::vector<T> convert(std::span<const Cell> cells, T missing, Convert&& convert_one) {
  std::vector<T> out;
  out.reserve(cells.size());
  for (const Cell& cell : cells) out.push_back(cell ? convert_one(*cell) : missing);
  return out;
}

Column column(const Variable& variable, std::span<const Cell> cells, const Vocabulary& vocabulary) {
  switch (variable.type) {
    case ValueType::int64:
      return {
          &variable,
          convert(cells, missing_int64, [](const auto& v) { return std::get<std::int64_t>(v); }),
          {}};
    case ValueType::real:
      return {&variable, convert(cells, kMissingReal, to_real), {}};
    case ValueType::text:
      return {&variable,
              convert(cells, std::string(),
                      [](const auto& v) { return clean_text(std::get<std::string>(v)); }),
              {}};
    case ValueType::choice:
      break;
  }
  Codes codes(variable, vocabulary);
  auto values = convert(cells, missing_choice,
                        [&](const auto& v) { return codes.code(std::get<std::string>(v)); });
  return {&variable, std::move(values), codes.names()};
}

template <class T, class Get>
std::vector<T> gather(std::span<const PointRecord> records, Get&& get_one) {
  std::vector<T> out;
  for (std::size_t point = 0; point < records.size(); ++point)
    for (const Sample& sample : records[point].samples)
      out.push_back(static_cast<T>(get_one(point, sample)));
  return out;
}

Values sample_values(const std::string& name, std::span<const PointRecord> records) {
  using S = const Sample&;
  using Codes = std::int8_t;
  if (name == "sample_point") return gather<std::int64_t>(records, [](auto p, S) { return p; });
  if (name == "sample_trial")
    return gather<std::int64_t>(records, [](auto, S s) { return s.trial; });
  if (name == "sample_index")
    return gather<std::int64_t>(records, [](auto, S s) { return s.index; });
  if (name == "sample_phase") return gather<Codes>(records, [](auto, S s) { return s.phase; });
  if (name == "sample_context_len")
    return gather<std::int64_t>(records, [](auto, S s) { return s.context_len; });
  if (name == "sample_n_tokens")
    return gather<std::int64_t>(records, [](auto, S s) { return s.n_tokens; });
  if (name == "sample_time_s")
    return gather<double>(
        records, [](auto, S s) { return std::isfinite(s.time_s) ? s.time_s : kMissingReal; });
  if (name == "sample_is_warmup")
    return gather<Codes>(records, [](auto, S s) { return s.is_warmup; });
  fail("the schema has a sample variable '{}' that samples lack", name);
}

}  // namespace

std::vector<Column> point_columns(std::span<const PointRecord> records,
                                  const Vocabulary& vocabulary) {
  std::vector<Column> columns;
  for (const Variable& variable : point_variables()) {
    std::vector<Cell> cells;
    for (const PointRecord& record : records) cells.push_back(cell(record, variable));
    columns.push_back(column(variable, cells, vocabulary));
  }
  return columns;
}

std::vector<Column> sample_columns(std::span<const PointRecord> records) {
  std::vector<Column> columns;
  for (const Variable& variable : sample_variables())
    columns.push_back({&variable, sample_values(variable.name, records), variable.meanings});
  return columns;
}

std::string clean_text(const std::string& text) {
  using Json = nlohmann::json;  // its writer knows what valid UTF-8 is
  auto clean = Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace))
                   .get<std::string>();
  std::erase(clean, '\0');
  return clean;
}

}  // namespace kvmeter::detail

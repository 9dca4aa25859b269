// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/record/read_result.hpp"

#include <string>

#include "harness/core/error.hpp"
#include "harness/record/detail/read_cells.hpp"
#include "harness/record/h5.hpp"
#include "harness/record/schema.hpp"

namespace kvmeter {
namespace {

using detail::Cell;

const std::string kVersion = "schema_version";

void put_field(PointRecord& record, const std::string& name, const std::string& text) {
  if (name == "point_hash") record.point_hash = text;
  if (name == "status") record.status = parse_enum<Status>(text);
  if (name == "message") record.message = text;
}

void put_key(Point& point, const PointKey& key, const RecordValue& value) {
  if (const auto* text = std::get_if<std::string>(&value))
    set_from_text(point, key, *text);  // true and false are names too
  else if (const auto* whole = std::get_if<std::int64_t>(&value))
    set(point, key, *whole);
  else
    set(point, key, std::get<double>(value));
}

void put(PointRecord& record, const Variable& variable, const Cell& cell) {
  if (variable.source == Source::measured) {
    if (cell) record.values[variable.name] = *cell;
    return;
  }
  const RecordValue value = cell.value_or(std::string());  // an empty text
  if (variable.source == Source::field)
    put_field(record, variable.name, std::get<std::string>(value));
  else
    put_key(record.point, *find_point_key(variable.name), value);
}

void read_variable(const h5::File& file, const std::string& path, const Variable& variable,
                   std::vector<PointRecord>& records) {
  const bool measured = variable.source == Source::measured;
  if (measured && !h5::has_dataset(file, variable.name)) return;
  const h5::Dataset dataset = h5::open_dataset(file, variable.name);
  const std::vector<Cell> cells = detail::read_cells(dataset, path, variable);
  KVMETER_EXPECTS(cells.size() == records.size(), "{}: {} has {} values for {} points", path,
                  variable.name, cells.size(), records.size());
  try {
    for (std::size_t i = 0; i < cells.size(); ++i) put(records[i], variable, cells[i]);
  } catch (const Error& error) {
    fail("{}: {}", path, error.what());
  }
}

template <class T>
std::vector<T> read_values(const h5::File& file, const std::string& name) {
  return h5::read<T>(h5::open_dataset(file, name), name);
}

void read_samples(const h5::File& file, const std::string& path,
                  std::vector<PointRecord>& records) {
  const auto time_s = read_values<double>(file, "sample_time_s");
  const auto whole = [&](const char* name) {
    auto values = read_values<std::int64_t>(file, name);
    KVMETER_EXPECTS(values.size() == time_s.size(), "{}: {} has {} values for {} samples", path,
                    name, values.size(), time_s.size());
    return values;
  };
  const auto point = whole("sample_point"), trial = whole("sample_trial"),
             index = whole("sample_index"), phase = whole("sample_phase"),
             context_len = whole("sample_context_len"), n_tokens = whole("sample_n_tokens"),
             is_warmup = whole("sample_is_warmup");
  for (std::size_t i = 0; i < time_s.size(); ++i) {
    const auto owner = static_cast<std::size_t>(point[i]);
    KVMETER_EXPECTS(owner < records.size(), "{}: sample_point = {}: there is no such point", path,
                    point[i]);
    records[owner].samples.push_back({static_cast<std::int32_t>(trial[i]),
                                      static_cast<std::int32_t>(index[i]),
                                      phase[i] == 0 ? Phase::prefill : Phase::decode,
                                      context_len[i], n_tokens[i], time_s[i], is_warmup[i] != 0});
  }
}

template <class T>
T read_one(const h5::File& file, const std::string& path, const std::string& name) {
  const std::vector<T> values = h5::read_attribute<T>(file.id(), name);
  KVMETER_EXPECTS(values.size() == 1, "{}: attribute '{}' has {} values, not one", path, name,
                  values.size());
  return values.front();
}

RecordValue read_global(const h5::File& file, const std::string& path, const Variable& variable) {
  if (variable.type == ValueType::text) return h5::read_text_attribute(file.id(), variable.name);
  if (variable.type == ValueType::int64) return read_one<std::int64_t>(file, path, variable.name);
  return read_one<double>(file, path, variable.name);
}

Attributes read_globals(const h5::File& file, const std::string& path) {
  Attributes attributes;
  for (const Variable& variable : attribute_variables())
    if (h5::has_attribute(file.id(), variable.name) && variable.name != kVersion)
      attributes[variable.name] = read_global(file, path, variable);
  return attributes;
}

void check_version(const h5::File& file, const std::string& path) {
  KVMETER_EXPECTS(h5::has_attribute(file.id(), kVersion),
                  "{}: no result file: it has no attribute '{}'", path, kVersion);
  const auto found = read_one<std::int64_t>(file, path, kVersion);
  KVMETER_EXPECTS(found == schema_version, "{}: has {} {}; this program reads {}", path, kVersion,
                  found, schema_version);
}

}  // namespace

ResultFile read_result(const std::filesystem::path& path) {
  const std::string name = path.string();
  KVMETER_EXPECTS(std::filesystem::exists(path), "{}: no such file", name);
  KVMETER_EXPECTS(!std::filesystem::is_directory(path), "{}: is a folder; expected a result file",
                  name);
  const h5::Silence silence;
  const h5::File file = h5::open_to_read(name);
  check_version(file, name);
  ResultFile result{{}, read_globals(file, name)};
  result.records.resize(read_values<std::int64_t>(file, "point").size());
  for (const Variable& variable : point_variables())
    read_variable(file, name, variable, result.records);
  read_samples(file, name, result.records);
  return result;
}

}  // namespace kvmeter

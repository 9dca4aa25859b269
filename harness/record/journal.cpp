// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/record/journal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "harness/core/error.hpp"
#include "harness/core/hash.hpp"
#include "harness/record/detail/record_json.hpp"
#include "harness/record/durable_file.hpp"
#include "harness/record/schema.hpp"

namespace kvmeter {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAttributesFile = "attributes.json";

bool is_hash(std::string_view name) {
  return name.size() == 16 && name.find_first_not_of("0123456789abcdef") == name.npos;
}

std::string read_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  KVMETER_EXPECTS(in.good() || in.eof(), "cannot be read");
  return bytes;
}

/// Lengths go in front, so that ("ab", "c") and ("a", "bc") differ.
std::uint64_t hash_part(std::string_view part, std::uint64_t state) {
  return fnv1a(part, fnv1a(fmt::format("{}:", part.size()), state));
}

}  // namespace

fs::path journal_folder(const fs::path& output) {
  fs::path folder = output;
  folder += ".journal";
  return folder;
}

std::string point_hash(std::string_view canonical_point, std::span<const std::string> parts) {
  std::uint64_t state = hash_part(fmt::format("{}", schema_version), fnv1a_start);
  state = hash_part(canonical_point, state);
  for (const std::string& part : parts) state = hash_part(part, state);
  return hex(state);
}

Journal Journal::create(const fs::path& folder) {
  std::error_code error;
  fs::create_directory(folder, error);
  KVMETER_EXPECTS(!error, "journal '{}': cannot make the folder: {}", folder.string(),
                  error.message());
  check_writable(folder / kAttributesFile);
  return Journal(folder);
}

Journal Journal::open(const fs::path& folder) {
  std::error_code ignored;
  KVMETER_EXPECTS(fs::is_directory(folder, ignored), "journal '{}': is not a folder",
                  folder.string());
  return Journal(folder);
}

void Journal::store(const PointRecord& record) const {
  KVMETER_EXPECTS(is_hash(record.point_hash), "'{}' is not a point's hash", record.point_hash);
  check_record(record);
  write_durably(m_folder / (record.point_hash + ".json"), detail::frame(detail::to_json(record)));
}

void Journal::store_attributes(const Attributes& attributes) const {
  check_attributes(attributes);
  write_durably(m_folder / kAttributesFile, detail::frame(detail::to_json(attributes)));
}

JournalEntry Journal::load(std::string_view point_hash) const {
  const fs::path file = m_folder / fmt::format("{}.json", point_hash);
  std::error_code ignored;
  if (!is_hash(point_hash) || !fs::exists(file, ignored)) return {};
  return load_file(file);
}

JournalEntry Journal::load_file(const fs::path& file) const {
  try {
    PointRecord record = detail::record_from_json(detail::unframe(read_file(file)));
    KVMETER_EXPECTS(record.point_hash == file.stem(), "holds another point, {}", record.point_hash);
    return {std::move(record), ""};
  } catch (const std::exception& error) {  // JSON's own exceptions too
    return {std::nullopt, fmt::format("{}: {}", file.string(), error.what())};
  }
}

std::vector<fs::path> Journal::point_files() const {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(m_folder))
    if (entry.path().extension() == ".json" && is_hash(entry.path().stem().string()))
      files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

JournalContents Journal::load_all() const {
  JournalContents contents;
  for (const fs::path& file : point_files()) {
    JournalEntry entry = load_file(file);
    if (entry.record)
      contents.records.push_back(std::move(*entry.record));
    else
      contents.problems.push_back(std::move(entry.problem));
  }
  return contents;
}

JournalAttributes Journal::load_attributes() const {
  const fs::path file = m_folder / kAttributesFile;
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return {};
  try {
    return {detail::attributes_from_json(detail::unframe(read_file(file))), ""};
  } catch (const std::exception& error) {
    return {{}, fmt::format("{}: {}", file.string(), error.what())};
  }
}

void Journal::clear() const {
  for (const fs::path& file : point_files()) fs::remove(file);
  fs::remove(m_folder / kAttributesFile);
}

}  // namespace kvmeter

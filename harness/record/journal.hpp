// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The durable truth of a sweep: a folder with one small JSON file per finished point, HASH.json,
// and one for the global attributes. A file is there whole or not at all; a damaged one counts as
// absent. One writer at a time: there is no locking yet.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/record.hpp"

namespace kvmeter {

/// Where the journal of a result file lies: OUT.h5 -> OUT.h5.journal.
std::filesystem::path journal_folder(const std::filesystem::path& output);

/// The name of a point: a hash over its canonical spelling, the schema version and whatever else
/// its result depends on (program, weights, workload, stop rule), each part by itself.
std::string point_hash(std::string_view canonical_point, std::span<const std::string> parts);

/// A record of the journal, or why one whose file is there cannot be used.
struct JournalEntry {
  std::optional<PointRecord> record;
  std::string problem;  // one line with the file's name; empty if there was no file
};

struct JournalAttributes {
  Attributes attributes;
  std::string problem;  // empty: none
};

struct JournalContents {
  std::vector<PointRecord> records;   // sorted by hash
  std::vector<std::string> problems;  // of files that had to be ignored
};

class Journal {
 public:
  /// Opens a journal and makes its folder. Throws Error if it cannot be made or written.
  static Journal create(const std::filesystem::path& folder);

  /// Opens a journal for reading. Throws Error if the folder is not there.
  static Journal open(const std::filesystem::path& folder);

  /// Keeps a finished point; on the disk when this returns. Throws Error, a full disk included.
  void store(const PointRecord& record) const;
  void store_attributes(const Attributes& attributes) const;

  /// The stored record of this point, if it is whole and of this schema.
  JournalEntry load(std::string_view point_hash) const;

  /// All whole records.
  JournalContents load_all() const;

  /// The stored attributes; none if they are absent, none and a problem if they are damaged.
  [[nodiscard]] JournalAttributes load_attributes() const;

  /// Removes the files that a journal writes, and no others.
  void clear() const;

 private:
  explicit Journal(std::filesystem::path folder) : m_folder(std::move(folder)) {}
  JournalEntry load_file(const std::filesystem::path& file) const;
  [[nodiscard]] std::vector<std::filesystem::path> point_files() const;  // sorted

  std::filesystem::path m_folder;
};

}  // namespace kvmeter

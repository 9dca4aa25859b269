// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Reads result files by bare HDF5 calls, sharing no code with the writer.
#pragma once

#include <hdf5.h>

#include <filesystem>
#include <string>
#include <vector>

namespace kvmeter::test {

class ResultReader {
 public:
  explicit ResultReader(const std::filesystem::path& file);
  ResultReader(const ResultReader&) = delete;
  ResultReader& operator=(const ResultReader&) = delete;
  ~ResultReader();

  std::vector<std::string> variables() const;  // in the order of creation
  std::size_t size(const std::string& variable) const;

  /// Numbers of any stored type as int64 or double; with std::string, variable-length text.
  template <class T>
  std::vector<T> read(const std::string& variable) const;

  /// `object` is a variable, or "." for the file itself.
  bool has_attribute(const std::string& object, const std::string& name) const;
  std::string text_attribute(const std::string& object, const std::string& name) const;
  std::vector<double> number_attribute(const std::string& object, const std::string& name) const;

  bool is_scale(const std::string& variable) const;
  bool is_attached(const std::string& variable, const std::string& scale) const;

 private:
  hid_t m_file;
};

}  // namespace kvmeter::test

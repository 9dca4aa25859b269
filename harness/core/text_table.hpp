// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Rows of text in aligned columns, as the commands print them: names to the left, numbers to the
// right.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace kvmeter {

class TextTable {
 public:
  explicit TextTable(std::vector<std::string> heads) : m_heads(std::move(heads)) {}

  /// \pre as many cells as heads
  void add_row(std::vector<std::string> cells);

  /// A line of heads and a line for each row, each ending in a line break.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::string> m_heads;              // [n_columns]
  std::vector<std::vector<std::string>> m_rows;  // [n_rows][n_columns]
};

}  // namespace kvmeter

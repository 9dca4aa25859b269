// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/core/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/core/error.hpp"

namespace kvmeter {
namespace {

struct Column {
  std::size_t width = 0;
  bool numeric = true;
};

/// "12", "-3.5 ms"; a lone "-" stands for a number that there is not.
bool is_number(std::string_view cell) {
  if (cell.starts_with('-')) cell.remove_prefix(1);
  return cell.empty() || (cell.front() >= '0' && cell.front() <= '9');
}

std::string line(const std::vector<std::string>& cells, const std::vector<Column>& columns) {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    text += columns[i].numeric ? fmt::format("{:>{}}", cells[i], columns[i].width)
                               : fmt::format("{:<{}}", cells[i], columns[i].width);
    text += "  ";
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + '\n';
}

}  // namespace

void TextTable::add_row(std::vector<std::string> cells) {
  KVMETER_EXPECTS(cells.size() == m_heads.size(), "a row of {} cells in a table of {} columns",
                  cells.size(), m_heads.size());
  m_rows.push_back(std::move(cells));
}

std::string TextTable::text() const {
  std::vector<Column> columns(m_heads.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i].width = m_heads[i].size();
    for (const auto& row : m_rows) {
      columns[i].width = std::max(columns[i].width, row[i].size());
      columns[i].numeric = columns[i].numeric && is_number(row[i]);
    }
  }
  std::string text = line(m_heads, columns);
  for (const auto& row : m_rows) text += line(row, columns);
  return text;
}

}  // namespace kvmeter

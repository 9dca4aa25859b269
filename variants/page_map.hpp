// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Which pages of a pool hold rows. A pool is equal stretches one after the other, one for each head
// of each block, that are filled from their beginning; a page may belong to several.
#pragma once

#include <cstdint>
#include <vector>

namespace kvmeter {

class PageMap {
 public:
  PageMap(std::int64_t n_stretches, std::int64_t stretch_bytes, std::int64_t page_bytes)
      : m_stretch_bytes(stretch_bytes),
        m_page_bytes(page_bytes),
        m_used(static_cast<std::size_t>(n_stretches), 0),
        m_stretches(static_cast<std::size_t>(pages_for(n_stretches * stretch_bytes)), 0) {}

  [[nodiscard]] std::int64_t mapped_bytes() const { return m_n_mapped * m_page_bytes; }
  /// All pages, mapped or not.
  [[nodiscard]] std::int64_t reserved_bytes() const {
    return std::int64_t{std::ssize(m_stretches)} * m_page_bytes;
  }

  /// From now on the first `bytes` of a stretch hold rows: calls map(first page, n) or unmap(first
  /// page, n) for each run of pages that change.
  template <class Map, class Unmap>
  void use(std::int64_t stretch, std::int64_t bytes, const Map& map, const Unmap& unmap) {
    std::int64_t& used = m_used[static_cast<std::size_t>(stretch)];
    const Range before = pages(stretch, used);
    used = bytes;
    const Range after = pages(stretch, used);
    for_each_run(before.end > after.begin ? before.end : after.begin, after.end, 1, map);
    for_each_run(after.end > before.begin ? after.end : before.begin, before.end, -1, unmap);
  }

 private:
  struct Range {
    std::int64_t begin, end;
  };
  [[nodiscard]] std::int64_t pages_for(std::int64_t bytes) const {
    return (bytes + m_page_bytes - 1) / m_page_bytes;
  }
  [[nodiscard]] Range pages(std::int64_t stretch, std::int64_t bytes) const {
    const std::int64_t first = stretch * m_stretch_bytes;
    const std::int64_t page = first / m_page_bytes;
    return {page, bytes == 0 ? page : pages_for(first + bytes)};
  }

  /// Adds `change` to the stretches of pages [begin, end) and calls function for runs of pages that
  /// get their first or lose their last.
  template <class Function>
  void for_each_run(std::int64_t begin, std::int64_t end, std::int32_t change,
                    const Function& function) {
    std::int64_t run = begin;
    for (std::int64_t page = begin; page < end; ++page) {
      std::int32_t& n = m_stretches[static_cast<std::size_t>(page)];
      n += change;
      if (n == (change > 0 ? 1 : 0)) continue;
      close_run(run, page, change, function);
      run = page + 1;
    }
    close_run(run, end, change, function);
  }
  template <class Function>
  void close_run(std::int64_t begin, std::int64_t end, std::int32_t change,
                 const Function& function) {
    if (begin >= end) return;
    m_n_mapped += change * (end - begin);
    function(begin, end - begin);
  }

  std::int64_t m_stretch_bytes;
  std::int64_t m_page_bytes;
  std::vector<std::int64_t> m_used;       // [n_stretches] bytes
  std::vector<std::int32_t> m_stretches;  // [pages] how many hold rows there
  std::int64_t m_n_mapped = 0;
};

}  // namespace kvmeter

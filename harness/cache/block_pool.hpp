// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Blocks of one pool: which are free, and how many sequences own each of the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/core/error.hpp"

namespace kvmeter {

class BlockPool {
 public:
  explicit BlockPool(std::int64_t n_blocks) : m_owners(static_cast<std::size_t>(n_blocks), 0) {
    for (std::int64_t id = n_blocks; id-- > 0;) m_free.push_back(static_cast<std::int32_t>(id));
  }

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(m_owners.size()); }
  [[nodiscard]] std::int64_t n_free() const { return static_cast<std::int64_t>(m_free.size()); }
  [[nodiscard]] std::int32_t owners(std::int32_t id) const {
    return m_owners[static_cast<std::size_t>(id)];
  }

  /// A free block, the lowest at first, with one owner. \pre n_free() > 0
  std::int32_t take() {
    KVMETER_EXPECTS(!m_free.empty(), "no block is free; the pool has {}", size());
    const std::int32_t id = m_free.back();
    m_free.pop_back();
    m_owners[static_cast<std::size_t>(id)] = 1;
    return id;
  }
  void share(std::int32_t id) { ++m_owners[static_cast<std::size_t>(id)]; }
  /// One owner less; without any the block is free.
  void release(std::int32_t id) {
    if (--m_owners[static_cast<std::size_t>(id)] == 0) m_free.push_back(id);
  }

 private:
  std::vector<std::int32_t> m_owners;  // [n_blocks]
  std::vector<std::int32_t> m_free;
};

}  // namespace kvmeter

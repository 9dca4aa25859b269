// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// A stretch of addresses of the host that memory is put behind page by page (Linux, mmap). What is
// mapped is announced to Kokkos' tools as one allocation of that size, so that the ledger and tools
// of the user see it grow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace kvmeter {

class AddressSpace {
 public:
  /// Sets addresses aside, without memory. Throws OutOfMemoryError where there are none.
  AddressSpace(std::string label, std::int64_t bytes);
  ~AddressSpace();
  AddressSpace(AddressSpace&& other) noexcept;
  AddressSpace& operator=(AddressSpace&&) = delete;

  [[nodiscard]] std::byte* data() const { return m_data; }
  [[nodiscard]] std::int64_t mapped_bytes() const { return m_mapped_bytes; }

  /// Puts memory behind pages [first, first + n), zeros at first. Throws
  /// OutOfMemoryError where there is none. \pre none there yet
  void map(std::int64_t first, std::int64_t n);
  /// Takes it away again. \pre all are mapped
  void unmap(std::int64_t first, std::int64_t n);

  static std::int64_t page_bytes();

 private:
  void announce(std::int64_t bytes);

  std::string m_label;
  std::byte* m_data = nullptr;
  std::int64_t m_bytes = 0;
  std::int64_t m_mapped_bytes = 0;
};

}  // namespace kvmeter

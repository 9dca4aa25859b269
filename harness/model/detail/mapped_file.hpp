// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// A file mapped into memory to be read. Not proof against a file that another program truncates
// while it is mapped: reading past its new end is a SIGBUS.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace kvmeter::detail {

class MappedFile {
 public:
  /// Throws Error that names the file where it is missing, not a regular file, or cannot be read.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const { return m_bytes; }

  /// Gives whole pages inside `part` of bytes() back to the operating system: they no longer count
  /// as resident, and are read again from the file where touched again.
  static void release(std::span<const std::byte> part);

 private:
  std::span<const std::byte> m_bytes;
};

}  // namespace kvmeter::detail

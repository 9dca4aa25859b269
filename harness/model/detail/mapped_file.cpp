// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/detail/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include "harness/core/error.hpp"

namespace kvmeter::detail {
namespace {

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

[[noreturn]] void fail_errno(const std::filesystem::path& path, const char* what) {
  fail("{}: {}: {}", path.string(), what, std::generic_category().message(errno));
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  const Descriptor file{
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};  // a pipe must not block
  if (file.number < 0) fail_errno(path, "cannot be opened");
  struct stat status {};
  if (fstat(file.number, &status) != 0) fail_errno(path, "cannot be read");
  KVMETER_EXPECTS(S_ISREG(status.st_mode), "{}: not a regular file", path.string());
  if (status.st_size == 0) return;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (address == MAP_FAILED) fail_errno(path, "cannot be mapped into memory");
  m_bytes = {static_cast<const std::byte*>(address), size};
}

MappedFile::~MappedFile() {
  if (!m_bytes.empty()) munmap(const_cast<std::byte*>(m_bytes.data()), m_bytes.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept : m_bytes(std::exchange(other.m_bytes, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(m_bytes, other.m_bytes);
  return *this;
}

void MappedFile::release(std::span<const std::byte> part) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(part.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(part.data() + part.size()) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace kvmeter::detail

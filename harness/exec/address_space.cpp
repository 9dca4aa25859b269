// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/address_space.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "harness/core/error.hpp"

namespace kvmeter {
namespace {

constexpr int access = PROT_READ | PROT_WRITE;
constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

/// A write to each page, where the kernel cannot be asked to map many at once (before Linux 5.14).
void touch(std::byte* first, std::int64_t bytes) {
  for (std::int64_t at = 0; at < bytes; at += AddressSpace::page_bytes())
    *static_cast<volatile std::byte*>(first + at) = std::byte{0};
}

[[noreturn]] void fail(const std::string& label, const char* what, std::int64_t bytes) {
  throw OutOfMemoryError(
      fmt::format("{}: {} {} bytes: {}", label, what, bytes, std::strerror(errno)));
}

}  // namespace

AddressSpace::AddressSpace(std::string label, std::int64_t bytes)
    : m_label(std::move(label)), m_bytes(std::max<std::int64_t>(bytes, 1)) {
  void* data = mmap(nullptr, static_cast<std::size_t>(m_bytes), access, flags, -1, 0);
  if (data == MAP_FAILED) fail(m_label, "cannot set aside addresses for", m_bytes);
  m_data = static_cast<std::byte*>(data);
  // A huge page would put memory behind more than was asked for.
  madvise(m_data, static_cast<std::size_t>(m_bytes), MADV_NOHUGEPAGE);
}

AddressSpace::~AddressSpace() {
  if (m_data == nullptr) return;
  announce(0);
  munmap(m_data, static_cast<std::size_t>(m_bytes));
}

AddressSpace::AddressSpace(AddressSpace&& other) noexcept
    : m_label(std::move(other.m_label)),
      m_data(std::exchange(other.m_data, nullptr)),
      m_bytes(other.m_bytes),
      m_mapped_bytes(std::exchange(other.m_mapped_bytes, 0)) {}

void AddressSpace::map(std::int64_t first, std::int64_t n) {
  std::byte* at = m_data + first * page_bytes();
  const std::int64_t bytes = n * page_bytes();
#if defined(MADV_POPULATE_WRITE)
  if (madvise(at, static_cast<std::size_t>(bytes), MADV_POPULATE_WRITE) != 0) {
    // EINVAL: the kernel does not know how
    if (errno != EINVAL) fail(m_label, "cannot put memory behind", bytes);
    touch(at, bytes);
  }
#else
  touch(at, bytes);
#endif
  announce(m_mapped_bytes + bytes);
}

void AddressSpace::unmap(std::int64_t first, std::int64_t n) {
  const std::int64_t bytes = n * page_bytes();
  madvise(m_data + first * page_bytes(), static_cast<std::size_t>(bytes), MADV_DONTNEED);
  announce(m_mapped_bytes - bytes);
}

/// The one allocation takes the place of the one before.
void AddressSpace::announce(std::int64_t bytes) {
  const auto space = Kokkos::Tools::make_space_handle("Host");
  if (m_mapped_bytes > 0)
    Kokkos::Tools::deallocateData(space, m_label, m_data,
                                  static_cast<std::uint64_t>(m_mapped_bytes));
  m_mapped_bytes = bytes;
  if (bytes > 0)
    Kokkos::Tools::allocateData(space, m_label, m_data, static_cast<std::uint64_t>(bytes));
}

std::int64_t AddressSpace::page_bytes() {
  static const std::int64_t bytes = sysconf(_SC_PAGESIZE);
  return bytes;
}

}  // namespace kvmeter

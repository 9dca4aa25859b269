// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What the bandwidth is measured on: words in memory of the execution space, on the host with pages
// of a chosen size.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <memory>

#include "harness/core/error.hpp"
#include "harness/exec/spaces.hpp"
#include "harness/exec/views.hpp"
#include "harness/measure/peak.hpp"

namespace kvmeter::measure::detail {

/// Anonymous memory, aligned to 2 MiB, untouched; huge pages where the system grants them.
class MappedBuffer {
 public:
  MappedBuffer(std::int64_t bytes, Pages pages) : m_length(static_cast<std::size_t>(bytes) + huge) {
    m_start = ::mmap(nullptr, m_length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    KVMETER_EXPECTS(m_start != MAP_FAILED, "peak: cannot map a buffer of {} bytes", bytes);
    m_data = m_start;
    std::size_t space = m_length;
    std::align(huge, static_cast<std::size_t>(bytes), m_data, space);
    // Advice: a kernel without huge pages refuses it, which changes nothing.
    ::madvise(m_data, static_cast<std::size_t>(bytes),
              pages == Pages::huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  }
  ~MappedBuffer() { ::munmap(m_start, m_length); }
  MappedBuffer(const MappedBuffer&) = delete;
  MappedBuffer& operator=(const MappedBuffer&) = delete;

  [[nodiscard]] std::uint64_t* words() const { return static_cast<std::uint64_t*>(m_data); }

 private:
  static constexpr std::size_t huge = std::size_t{2} << 20;
  std::size_t m_length;
  void* m_start;
  void* m_data;
};

template <class Exec>
using Words = Array1<std::uint64_t, typename Exec::memory_space>;

/// The words of a buffer of `bytes`, which lives as long as the object.
template <class Exec, bool OnHost = is_host_exec<Exec>>
class ReadBuffer {
 public:
  ReadBuffer(const Exec&, std::int64_t bytes, Pages pages)
      : m_memory(bytes, pages), m_words(m_memory.words(), static_cast<std::size_t>(bytes) / 8) {}
  [[nodiscard]] Words<Exec> words() const { return m_words; }

 private:
  MappedBuffer m_memory;
  Words<Exec> m_words;  // [bytes / 8], unmanaged
};

template <class Exec>
class ReadBuffer<Exec, false> {
 public:
  ReadBuffer(const Exec& exec, std::int64_t bytes, Pages)
      : m_words(allocate<Words<Exec>>(exec, "kvmeter::peak::buffer", bytes / 8)) {}
  [[nodiscard]] Words<Exec> words() const { return m_words; }

 private:
  Words<Exec> m_words;  // [bytes / 8]
};

}  // namespace kvmeter::measure::detail

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The memory of one pool of rows: of the device, of the host beside it, or addresses that memory is
// put behind as rows are written.
#pragma once

#include <memory>
#include <string>

#include "harness/exec/address_space.hpp"
#include "harness/exec/spaces.hpp"
#include "harness/exec/views.hpp"

namespace kvmeter {

enum class RowPlace { device, host_side, mapped };

/// Writes to each page, so that memory is behind it, near the thread that does.
template <class Exec>
void touch_pages(const Exec& exec, std::byte* data, std::int64_t bytes) {
  constexpr std::int64_t page = 4096;
  const Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>> pages(exec, 0,
                                                                         (bytes + page - 1) / page);
  Kokkos::parallel_for(
      "kvmeter::cache::touch", pages,
      KOKKOS_LAMBDA(std::int64_t i) { data[i * page] = std::byte{0}; });
}

template <class Exec>
class RowMemory {
 public:
  RowMemory() = default;

  /// Memory that is not mapped later is touched here, so that no step pays for its pages.
  RowMemory(const Exec& exec, RowPlace place, const std::string& label, std::int64_t bytes) {
    if (bytes == 0) return;  // Kokkos counts a View of nothing as its header
    switch (place) {
      case RowPlace::device:
        m_device = allocate<decltype(m_device)>(exec, label, bytes);
        m_data = m_device.data();
        break;
      case RowPlace::host_side:
        m_host_side = allocate<decltype(m_host_side)>(exec, label, bytes);
        m_data = m_host_side.data();
        break;
      case RowPlace::mapped:
        m_mapped = std::make_shared<AddressSpace>(label, bytes);
        m_data = m_mapped->data();
        return;
    }
    if constexpr (is_host_exec<Exec>) touch_pages(exec, m_data, bytes);
  }

  [[nodiscard]] std::byte* data() const { return m_data; }
  [[nodiscard]] AddressSpace& mapped() const { return *m_mapped; }

 private:
  Array1<std::byte, typename Exec::memory_space> m_device;
  Array1<std::byte, HostSideSpace<Exec>> m_host_side;
  std::shared_ptr<AddressSpace> m_mapped;
  std::byte* m_data = nullptr;
};

/// Sets bytes [first, first + n) to one value, for tests that poison memory.
template <class Exec>
void fill_bytes(const Exec& exec, std::byte* first, std::int64_t n, std::byte value) {
  Kokkos::parallel_for(
      "kvmeter::cache::fill",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, n),
      KOKKOS_LAMBDA(std::int64_t i) { first[i] = value; });
}

}  // namespace kvmeter

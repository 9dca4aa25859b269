// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The View types of kvmeter: element, rank, row-major layout and memory space are always spelled.
// Labels begin with kvmeter::<area>:: and the ledger counts bytes by them.
#pragma once

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "harness/core/error.hpp"

namespace kvmeter {

template <class T, class MemorySpace>
using Array1 = Kokkos::View<T*, Kokkos::LayoutRight, MemorySpace>;
template <class T, class MemorySpace>
using Array2 = Kokkos::View<T**, Kokkos::LayoutRight, MemorySpace>;
template <class T, class MemorySpace>
using Array3 = Kokkos::View<T***, Kokkos::LayoutRight, MemorySpace>;

/// The same arrays with contents that a kernel only reads.
template <class T, class MemorySpace>
using ConstArray1 = Kokkos::View<const T*, Kokkos::LayoutRight, MemorySpace>;
template <class T, class MemorySpace>
using ConstArray2 = Kokkos::View<const T**, Kokkos::LayoutRight, MemorySpace>;

/// Allocates a View without touching its pages. `label` is "kvmeter::<area>::<thing>". Throws
/// OutOfMemoryError with Kokkos' message, which has label and bytes.
template <class ViewType, class Exec, class... Extents>
ViewType allocate(const Exec& exec, const std::string& label, Extents... extents) try {
  return ViewType(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, label),
                  static_cast<std::size_t>(extents)...);
} catch (const std::runtime_error& error) {
  const std::string message = error.what();
  if (message.find("allocate") == std::string::npos) throw;
  throw OutOfMemoryError(message.substr(0, message.find('\n')));
}

/// A host copy that kernels of `MemorySpace` fill or read through an explicit deep_copy.
template <class T>
using HostArray1 = Array1<T, Kokkos::HostSpace>;
template <class T>
using HostArray2 = Array2<T, Kokkos::HostSpace>;

}  // namespace kvmeter

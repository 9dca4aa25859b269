// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The execution spaces that a test program runs its templated cases on, and copies to and from
// them.
#pragma once

#include <Kokkos_Core.hpp>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "harness/exec/spaces.hpp"
#include "harness/exec/views.hpp"

namespace kvmeter::test {

#if defined(KVMETER_TEST_ON_DEVICE)
using TestExecs = std::tuple<Kokkos::DefaultExecutionSpace>;
#else
using TestExecs = std::tuple<Kokkos::Serial, Kokkos::OpenMP>;
#endif

/// A View of `values` in the memory of Exec.
template <class Exec, class T>
Array1<T, typename Exec::memory_space> to_device(const Exec& exec, const std::vector<T>& values) {
  const Kokkos::View<const T*, Kokkos::LayoutRight, Kokkos::HostSpace> host(values.data(),
                                                                            values.size());
  auto view = allocate<Array1<T, typename Exec::memory_space>>(exec, "kvmeter::test::values",
                                                               values.size());
  Kokkos::deep_copy(exec, view, host);
  exec.fence("kvmeter::test: the host values go away");
  return view;
}

/// The same as a matrix of `rows` rows.
template <class Exec, class T>
Array2<T, typename Exec::memory_space> to_device(const Exec& exec, const std::vector<T>& values,
                                                 std::int64_t rows) {
  const auto n_rows = static_cast<std::size_t>(rows);
  const std::size_t columns = n_rows == 0 ? 0 : values.size() / n_rows;
  const Kokkos::View<const T**, Kokkos::LayoutRight, Kokkos::HostSpace> host(values.data(), n_rows,
                                                                             columns);
  auto view = allocate<Array2<T, typename Exec::memory_space>>(exec, "kvmeter::test::values",
                                                               n_rows, columns);
  Kokkos::deep_copy(exec, view, host);
  exec.fence("kvmeter::test: the host values go away");
  return view;
}

/// All elements of a View, row after row, once what runs on exec is done.
template <class Exec, class ViewType>
auto to_host(const Exec& exec, const ViewType& view) {
  const auto host = Kokkos::create_mirror(
      Kokkos::view_alloc(Kokkos::WithoutInitializing, Kokkos::HostSpace{}), view);
  Kokkos::deep_copy(exec, host, view);
  exec.fence("kvmeter::test: the host reads");
  using Element = typename ViewType::non_const_value_type;
  return std::vector<Element>(host.data(), host.data() + host.size());
}

}  // namespace kvmeter::test

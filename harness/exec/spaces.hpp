// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The Kokkos execution spaces of this build, by back end. The only file, with
// harness/exec/device_memory.cpp, that asks the preprocessor which they are.
#pragma once

#include <Kokkos_Core.hpp>

#include <string_view>
#include <vector>

#include "harness/core/enums.hpp"
#include "harness/core/error.hpp"

namespace kvmeter {

#if defined(KOKKOS_ENABLE_CUDA)
inline constexpr bool has_cuda = true;
#define KVMETER_FOR_EACH_EXEC(X) X(Kokkos::Serial) X(Kokkos::OpenMP) X(Kokkos::Cuda)
#else
inline constexpr bool has_cuda = false;
#define KVMETER_VECTOR_TYPES  // GCC's and Clang's; nvcc refuses them (harness/exec/pack.hpp)
#define KVMETER_FOR_EACH_EXEC(X) X(Kokkos::Serial) X(Kokkos::OpenMP)
#endif

/// Can the host dereference what this execution space computes on.
template <class Exec>
inline constexpr bool is_host_exec =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Exec::memory_space>::accessible;

template <class Exec>
struct BackendOf;
template <>
struct BackendOf<Kokkos::Serial> {
  static constexpr Backend value = Backend::serial;
};
template <>
struct BackendOf<Kokkos::OpenMP> {
  static constexpr Backend value = Backend::openmp;
};
#if defined(KOKKOS_ENABLE_CUDA)
template <>
struct BackendOf<Kokkos::Cuda> {
  static constexpr Backend value = Backend::cuda;
};
#endif

/// Memory of the host that kernels of this execution space can reach too: where an offloaded cache
/// lives.
template <class Exec>
struct HostSideOf {
  using type = Kokkos::HostSpace;
};
#if defined(KOKKOS_ENABLE_CUDA)
template <>
struct HostSideOf<Kokkos::Cuda> {
  using type = Kokkos::CudaHostPinnedSpace;
};
#endif
template <class Exec>
using HostSideSpace = typename HostSideOf<Exec>::type;

/// Back ends compiled into this program.
inline std::vector<Backend> backends_in_build() {
  std::vector<Backend> backends{Backend::serial, Backend::openmp};
  if (has_cuda) backends.push_back(Backend::cuda);
  return backends;
}

/// Calls function(ExecTag<Exec>{}) for the back end: the one place where a run-time back end
/// becomes a type.
template <class Exec>
struct ExecTag {
  using type = Exec;
};
template <class Function>
decltype(auto) visit_backend(Backend backend, Function&& function) {
  switch (backend) {
    case Backend::serial:
      return function(ExecTag<Kokkos::Serial>{});
    case Backend::openmp:
      return function(ExecTag<Kokkos::OpenMP>{});
    case Backend::cuda:
#if defined(KOKKOS_ENABLE_CUDA)
      return function(ExecTag<Kokkos::Cuda>{});
#endif
      break;
  }
  unsupported("backend cuda: not in this build");
}

}  // namespace kvmeter

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Thread counts: execution spaces with as many as asked, and the same count for OpenMP libraries
// (oneDNN) that are called from the host and know nothing of Kokkos' instances.
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

#include "harness/core/error.hpp"
#include "harness/exec/spaces.hpp"

namespace kvmeter {

/// Processors that this process may use.
int available_threads();

/// Throws UsageError unless 0 <= threads <= available_threads().
void check_threads(std::int64_t threads);

/// OpenMP code called in its scope from this thread, e.g. oneDNN, runs on `threads` threads.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int m_before;
};

/// Host threads that kernels on this instance run on. Not exec.concurrency(): with Kokkos'
/// deprecated code built in, that is a static function, which answers for the default instance.
template <class Exec>
int thread_count(const Exec& exec) {
  if constexpr (std::is_same_v<Exec, Kokkos::OpenMP>)
    return exec.impl_thread_pool_size();
  else
    return 1;
}

/// An instance of Exec that uses `threads` threads, 0: all. Throws UsageError on more than the
/// machine has, UnsupportedError where a serial space is asked for several. On a device the number
/// says nothing.
template <class Exec>
Exec make_exec(std::int64_t threads) {
  check_threads(threads);
  if constexpr (std::is_same_v<Exec, Kokkos::OpenMP>) {
    if (threads != 0 && threads != thread_count(Exec())) return Exec(static_cast<int>(threads));
  } else if constexpr (is_host_exec<Exec>) {
    if (threads > 1) unsupported("threads {}: the serial back end has one", threads);
  }
  return Exec();
}

}  // namespace kvmeter

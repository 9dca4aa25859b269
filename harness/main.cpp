// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Reads the command line, starts Kokkos for the commands that compute, and runs one of them.

#include <fmt/format.h>
#include <omp.h>
#include <unistd.h>

#include <Kokkos_Core.hpp>
#include <cstdlib>
#include <optional>

#include "harness/cli/cli.hpp"
#include "harness/core/error.hpp"

namespace {

/// Kokkos sees none of our arguments, and does not ask for a thread binding that the user did not
/// choose. Points choose their own number of threads (harness/exec/threads.hpp).
Kokkos::InitializationSettings kokkos_settings() {
  setenv("OMP_PROC_BIND", "false", 0);
  return {};
}

/// Threads that wait for others at the end of a kernel spin for about 0.1 ms and then sleep, unless
/// the user chose otherwise. libgomp's own 15 ms keep a processor from the very thread that is
/// waited for where another program runs beside: a step then took 100 times as long. The library
/// reads the variable before main, so that the program starts once more.
void let_waiting_threads_sleep(char** argv) {
  if (getenv("GOMP_SPINCOUNT") != nullptr || getenv("OMP_WAIT_POLICY") != nullptr) return;
  setenv("GOMP_SPINCOUNT", "2000", 1);
  execv("/proc/self/exe", argv);  // where it fails, only time is lost
}

/// More threads than Kokkos' tables hold would be written past their end.
void check_thread_count() {
  constexpr int most = 512;  // Kokkos::Impl::OpenMPInternal::max_threads
  if (omp_get_max_threads() > most)
    throw kvmeter::UsageError(
        fmt::format("OMP_NUM_THREADS: {} threads; allowed: 1 to {}", omp_get_max_threads(), most));
}

}  // namespace

int main(int argc, char** argv) {
  return kvmeter::cli::guarded([&] {
    const kvmeter::cli::Command command = kvmeter::cli::parse(argc, argv);
    std::optional<Kokkos::ScopeGuard> kokkos;
    if (command.computes) {
      let_waiting_threads_sleep(argv);
      check_thread_count();
      kokkos.emplace(kokkos_settings());
    }
    return command.body();
  });
}

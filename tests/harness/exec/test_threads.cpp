// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/threads.hpp"

#include <omp.h>

#include <catch2/catch_test_macros.hpp>

namespace kvmeter {
namespace {

TEST_CASE("an OpenMP instance has the threads asked for", "[cpu]") {
  CHECK(thread_count(make_exec<Kokkos::OpenMP>(0)) == thread_count(Kokkos::OpenMP()));
  CHECK(thread_count(make_exec<Kokkos::OpenMP>(1)) == 1);
  CHECK(thread_count(make_exec<Kokkos::OpenMP>(available_threads())) == available_threads());
  CHECK(thread_count(make_exec<Kokkos::Serial>(0)) == 1);
  CHECK(thread_count(make_exec<Kokkos::Serial>(1)) == 1);
}

TEST_CASE("thread counts that the machine does not have are refused", "[cpu]") {
  CHECK_THROWS_AS(make_exec<Kokkos::OpenMP>(-1), UsageError);
  CHECK_THROWS_AS(make_exec<Kokkos::OpenMP>(available_threads() + 1), UsageError);
  if (available_threads() > 1) CHECK_THROWS_AS(make_exec<Kokkos::Serial>(2), UnsupportedError);
}

TEST_CASE("a thread limit holds in its scope, an exception included", "[cpu]") {
  const int before = omp_get_max_threads();
  try {
    const ThreadLimit limit(1);
    CHECK(omp_get_max_threads() == 1);
    fail("left early");
  } catch (const Error&) {
  }
  CHECK(omp_get_max_threads() == before);
}

struct Threads {
  KOKKOS_FUNCTION void operator()(int, int& most) const {
    KOKKOS_IF_ON_HOST((most = Kokkos::max(most, omp_get_num_threads());))
  }
};

TEST_CASE("kernels run on the instance's threads whatever OpenMP's own setting", "[cpu]") {
  const int n = available_threads();
  const ThreadLimit limit(1);
  const auto exec = make_exec<Kokkos::OpenMP>(n);
  int most = 0;
  Kokkos::parallel_reduce("kvmeter::test::threads",
                          Kokkos::RangePolicy<Kokkos::OpenMP>(exec, 0, 64), Threads{},
                          Kokkos::Max<int>(most));
  CHECK(most == n);
}

}  // namespace
}  // namespace kvmeter

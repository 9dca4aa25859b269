// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/threads.hpp"

#include <omp.h>

namespace kvmeter {

int available_threads() {
  return omp_get_num_procs();
}

void check_threads(std::int64_t threads) {
  const int available = available_threads();
  if (threads >= 0 && threads <= available) return;
  throw UsageError(
      fmt::format("threads {}: not in 0 (all) to {}, the processors of this machine that the "
                  "program may use",
                  threads, available));
}

ThreadLimit::ThreadLimit(int threads) : m_before(omp_get_max_threads()) {
  omp_set_num_threads(threads);
}

ThreadLimit::~ThreadLimit() {
  omp_set_num_threads(m_before);
}

}  // namespace kvmeter

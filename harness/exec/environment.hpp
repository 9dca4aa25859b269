// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What a result depends on besides its point: the build, the machine and its state. Libraries that
// this folder does not use are added by those who do.
#pragma once

#include <string>

#include "harness/core/record.hpp"

namespace kvmeter {

/// Set when the program was built.
struct BuildInfo {
  std::string version;         // of kvmeter
  std::string git_commit;      // 40 hex digits; empty outside a git checkout
  bool git_dirty = false;      // tracked files differed from the commit
  std::string compiler;        // "GNU 12.2.0"
  std::string compiler_flags;  // of the build type, and those of Kokkos
  std::string build_type;
};
const BuildInfo& build_info();

/// Build, machine, Kokkos, variables of the process's environment that matter; names of the result
/// schema. What cannot be read is absent. \pre Kokkos is initialized.
Attributes environment();

/// What can change between two points: cpu_governor, cpu_mhz, huge_pages, load_average,
/// available_memory_bytes; and cpu_caches, which cannot.
Attributes machine_state();

}  // namespace kvmeter

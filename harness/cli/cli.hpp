// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The command line: which command was asked for, and what exit code an error becomes. Knows nothing
// of how a command does its work.
#pragma once

#include <functional>

namespace kvmeter::cli {

struct Command {
  std::function<int()> body;  // returns the exit code
  bool computes = false;      // needs Kokkos
};

/// Reads the arguments; help and version are commands too. Throws UsageError.
Command parse(int argc, const char* const* argv);

/// What the function returns, or 1 after printing each line of an exception to stderr.
int guarded(const std::function<int()>& function);

}  // namespace kvmeter::cli

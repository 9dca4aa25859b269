// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// One exception type for everything that can go wrong on the host, and the check that throws it.
// Messages say what was wrong, the value, and what is allowed; one line, no trailing newline.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace kvmeter {

/// What a user can mend or a point can die of. Everything thrown on purpose is one of these.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A bad command line or sweep, found before anything is allocated: exit code 1.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// A combination that is well formed but that this build, back end or variant does not do.
class UnsupportedError : public Error {
 public:
  using Error::Error;
};

/// An allocation that the system or a device refused.
class OutOfMemoryError : public Error {
 public:
  using Error::Error;
};

/// Throws Error with a formatted message.
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

/// Throws UnsupportedError with a formatted message.
template <class... Args>
[[noreturn]] void unsupported(fmt::format_string<Args...> format, Args&&... args) {
  throw UnsupportedError(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace kvmeter

/// Throws kvmeter::Error with a formatted message unless `condition` holds.
#define KVMETER_EXPECTS(condition, ...)             \
  do {                                              \
    if (!(condition)) ::kvmeter::fail(__VA_ARGS__); \
  } while (false)

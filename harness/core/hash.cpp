// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/core/hash.hpp"

#include <fmt/format.h>

namespace kvmeter {

std::string hex(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}

}  // namespace kvmeter

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "harness/record/read_result.hpp"
#include "harness/run/commands.hpp"
#include "harness/run/laws/report.hpp"

namespace kvmeter::run {

int verify(const std::filesystem::path& file, bool json) {
  const laws::Report report = laws::hold_against_laws(read_result(file).records);
  json ? fmt::print("{}\n", laws::json_of(report)) : fmt::print("{}", laws::text_of(report));
  return report.holds() ? 0 : 3;
}

}  // namespace kvmeter::run

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0

// The main of test programs that use Kokkos. Listing the tests does not start Kokkos, so that it
// also works on a machine without the device.

#include <Kokkos_Core.hpp>
#include <catch2/catch_session.hpp>
#include <optional>

int main(int argc, char** argv) {
  Catch::Session session;
  if (const int code = session.applyCommandLine(argc, argv); code != 0) return code;
  const auto& config = session.configData();
  const bool lists = config.listTests || config.listTags || config.listReporters ||
                     config.listListeners || config.showHelp;
  std::optional<Kokkos::ScopeGuard> kokkos;
  if (!lists) kokkos.emplace();
  return session.run();
}

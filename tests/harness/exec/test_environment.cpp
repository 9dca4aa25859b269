// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/environment.hpp"

#include <catch2/catch_test_macros.hpp>

namespace kvmeter {
namespace {

std::string text(const Attributes& all, const std::string& name) {
  REQUIRE(all.contains(name));
  return std::get<std::string>(all.at(name));
}

TEST_CASE("the environment tells build, machine and Kokkos", "[cpu]") {
  const Attributes all = environment();
  CHECK_FALSE(text(all, "compiler").empty());
  CHECK_FALSE(text(all, "host").empty());
  CHECK(text(all, "operating_system").starts_with("Linux"));
  CHECK(text(all, "library_versions").find("fmt ") != std::string::npos);
  CHECK(text(all, "kokkos_configuration").find("OpenMP") != std::string::npos);
  CHECK_FALSE(text(all, "kokkos_version").empty());
  CHECK(std::get<std::int64_t>(all.at("cpu_count")) >= 1);
  CHECK(std::get<std::int64_t>(all.at("memory_bytes")) > 0);
}

TEST_CASE("a commit is 40 hexadecimal digits or absent", "[cpu]") {
  const std::string& commit = build_info().git_commit;
  CHECK((commit.empty() || commit.size() == 40));
  CHECK(commit.find_first_not_of("0123456789abcdef") == std::string::npos);
}

TEST_CASE("the state of the machine has its load", "[cpu]") {
  CHECK_FALSE(text(machine_state(), "load_average").empty());
}

}  // namespace
}  // namespace kvmeter

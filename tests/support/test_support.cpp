// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <fstream>

#include "tests/support/random.hpp"
#include "tests/support/reference_cases.hpp"
#include "tests/support/temp_dir.hpp"

namespace kvmeter::test {
namespace {

TEST_CASE("A temporary folder is new, can be written, and goes") {
  std::filesystem::path path;
  {
    const TempDir first;
    const TempDir second;
    path = first.path();
    CHECK(first.path() != second.path());
    std::ofstream(first / "file") << "text";
    CHECK(exists(first / "file"));
  }
  CHECK_FALSE(exists(path));
}

TEST_CASE("Random repeats with its seed and differs between streams") {
  CHECK(Random("a", 1).normal(8) == Random("a", 1).normal(8));
  CHECK(Random("a", 1).normal(8) != Random("b", 1).normal(8));
  CHECK(Random("a", 1).normal(8) != Random("a", 2).normal(8));
  Random random("range");
  for (int i = 0; i < 100; ++i) {
    const auto value = random.between(3, 5);
    CHECK((value >= 3 && value <= 5));
  }
}

TEST_CASE("Every reference case is complete") {
  for (const auto& reference : reference_cases()) {
    INFO(reference.name);
    const Expected expected = read_expected(reference.folder);
    CHECK(std::ssize(expected.input_ids) == expected.batch * expected.prompt);
    CHECK(std::ssize(expected.logits) == expected.batch * expected.prompt * expected.vocab);
    CHECK(std::ssize(expected.generated) == expected.batch * expected.n_new);
    CHECK(std::ssize(expected.step_logits) == expected.batch * expected.n_new * expected.vocab);
    CHECK(expected.n_new > 1);
  }
}

}  // namespace
}  // namespace kvmeter::test

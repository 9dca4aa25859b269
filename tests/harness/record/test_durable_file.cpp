// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>

#include "harness/core/error.hpp"
#include "harness/record/durable_file.hpp"
#include "tests/support/temp_dir.hpp"

using namespace kvmeter;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

/// The message of check_writable, which has to be one line; empty if it is content.
std::string complaint(const fs::path& path) {
  try {
    check_writable(path);
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
    return error.what();
  }
  return "";
}

/// While one lives, files cannot grow beyond some bytes: stands in for a full disk.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &m_before);
    const rlimit limit{bytes, m_before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SmallFiles() { ::setrlimit(RLIMIT_FSIZE, &m_before); }

 private:
  rlimit m_before{};
};

}  // namespace

TEST_CASE("a file is created and replaced, nothing else is left", "[record]") {
  const test::TempDir folder;
  write_durably(folder / "out", "one");
  write_durably(folder / "out", "two\0three");
  CHECK(test::read_bytes(folder / "out") == "two");
  write_durably(folder / "out", std::string_view("a\0b", 3));
  CHECK(test::read_bytes(folder / "out") == std::string("a\0b", 3));
  CHECK(folder.n_files() == 1);
}

TEST_CASE("a failed write leaves the old file and nothing else", "[record]") {
  const test::TempDir folder;
  write_durably(folder / "out", "old");
  {
    const SmallFiles limit(1000);
    CHECK_THROWS_AS(write_durably(folder / "out", std::string(5000, 'x')), Error);
  }
  CHECK(test::read_bytes(folder / "out") == "old");
  CHECK(folder.n_files() == 1);
}

TEST_CASE("an output that can be written is accepted and not touched", "[record]") {
  const test::TempDir folder;
  CHECK(complaint(folder / "new.h5").empty());
  CHECK(folder.n_files() == 0);
  test::write_bytes(folder / "old.h5", "old");
  CHECK(complaint(folder / "old.h5").empty());
  CHECK(test::read_bytes(folder / "old.h5") == "old");
}

TEST_CASE("an output that cannot be written is refused before a run", "[record]") {
  const test::TempDir folder;
  test::write_bytes(folder / "file", "");
  CHECK_THAT(complaint(folder.path()), ContainsSubstring("is a folder"));
  CHECK_THAT(complaint(folder / "none/out.h5"), ContainsSubstring("does not exist"));
  CHECK_THAT(complaint(folder / "file/out.h5"), ContainsSubstring("is not a folder"));
  CHECK_THAT(complaint("/dev/null"), ContainsSubstring("not a regular file"));
  CHECK_THAT(complaint(""), ContainsSubstring("not a file name"));
  CHECK_THAT(complaint("/proc/out.h5"), ContainsSubstring("cannot open"));
}

TEST_CASE("a folder without permission is refused", "[record]") {
  constexpr uid_t nobody = 65534;  // permissions do not bind root
  const test::TempDir folder;
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
  const uid_t user = ::geteuid();
  if (user == 0 && ::seteuid(nobody) != 0) SKIP("cannot become another user");
  const std::string message = complaint(folder / "out.h5");
  if (user == 0) REQUIRE(::seteuid(user) == 0);
  CHECK_THAT(message, ContainsSubstring("ermission denied"));
  fs::permissions(folder.path(), fs::perms::owner_all);
}

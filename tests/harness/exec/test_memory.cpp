// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/memory.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <string>
#include <vector>

namespace kvmeter {
namespace {

namespace fs = std::filesystem;

TEST_CASE("resident memory grows with touched pages", "[cpu]") {
  constexpr std::int64_t size = 64 << 20;
  const auto before = rss_bytes();
  REQUIRE(before);
  CHECK(*before > 0);
  const bool reset = reset_peak_rss();
  {
    const std::vector<char> touched(size, 1);
    CHECK(touched[size / 2] == 1);
    CHECK(*rss_bytes() >= *before + size / 2);
  }
  REQUIRE(peak_rss_bytes());
  CHECK(*peak_rss_bytes() >= *before + size / 2);
  if (reset) {
    REQUIRE(reset_peak_rss());
    CHECK(*peak_rss_bytes() <= *rss_bytes() + size / 16);
  }
  CHECK(*available_memory_bytes() > 0);
  CHECK(*available_memory_bytes() <= *memory_bytes());
}

/// A folder with the files of /proc and /sys that a case needs.
class FakeRoot {
 public:
  explicit FakeRoot(const std::string& name) : m_root(fs::temp_directory_path() / name) {
    fs::remove_all(m_root);
    write("proc/meminfo", "MemTotal:  9000 kB\nMemAvailableX: 1 kB\nMemAvailable:    8000 kB\n");
  }
  ~FakeRoot() { fs::remove_all(m_root); }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;

  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((m_root / file).parent_path());
    std::ofstream(m_root / file) << text;
  }
  [[nodiscard]] std::int64_t available() const { return available_memory_bytes(m_root).value(); }

 private:
  fs::path m_root;
};

TEST_CASE("available memory without control groups is what the kernel says", "[cpu]") {
  const FakeRoot root("kvmeter_test_memory_plain");
  CHECK(root.available() == 8000 * 1024);
}

TEST_CASE("a limit of control groups v2 counts, that of a parent too", "[cpu]") {
  const FakeRoot root("kvmeter_test_memory_v2");
  root.write("proc/self/cgroup", "0::/parent/own\n");
  root.write("sys/fs/cgroup/parent/own/memory.max", "max\n");
  root.write("sys/fs/cgroup/parent/own/memory.current", "100\n");
  CHECK(root.available() == 8000 * 1024);
  root.write("sys/fs/cgroup/parent/memory.max", "5000000\n");
  root.write("sys/fs/cgroup/parent/memory.current", "2000000\n");
  CHECK(root.available() == 3000000);
  root.write("sys/fs/cgroup/parent/memory.stat", "anon 5\ninactive_file 500000\n");
  CHECK(root.available() == 3500000);
}

TEST_CASE("a limit of control groups v1 counts, also where the path is not visible", "[cpu]") {
  const FakeRoot root("kvmeter_test_memory_v1");
  root.write("proc/self/cgroup", "8:cpu:/x\n4:memory:/unseen\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "1000000\n");
  root.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "1200000\n");
  CHECK(root.available() == 0);
  root.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "400000\n");
  CHECK(root.available() == 600000);
}

}  // namespace
}  // namespace kvmeter

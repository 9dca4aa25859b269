// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/memory.hpp"

#include <malloc.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>
#include <string_view>

namespace kvmeter {
namespace {

namespace fs = std::filesystem;
using Bytes = std::optional<std::int64_t>;

/// The number after `key` in a file of "key value" or "key: value kB" lines.
Bytes field(const fs::path& file, std::string_view key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    std::string_view rest = std::string_view(line).substr(key.size());
    const auto first = rest.find_first_not_of(": \t");
    if (first == 0 || first == std::string_view::npos) continue;  // only a longer key
    rest.remove_prefix(first);
    std::int64_t value = 0;
    if (std::from_chars(rest.data(), rest.data() + rest.size(), value).ec != std::errc()) continue;
    return rest.ends_with(" kB") ? value * 1024 : value;
  }
  return std::nullopt;
}

/// The one number in a file; "max" and anything else that is no number is nullopt.
Bytes number(const fs::path& file) {
  std::ifstream in(file);
  std::int64_t value = 0;
  if (in >> value) return value;
  return std::nullopt;
}

Bytes least(Bytes a, Bytes b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}

struct GroupFiles {
  const char* limit;
  const char* usage;
  const char*
      reclaimable;  // key in memory.stat: page cache that counts as used but is given up first
};
constexpr GroupFiles v1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr GroupFiles v2{"memory.max", "memory.current", "inactive_file"};

/// What the limit of one control group leaves, if it has one.
Bytes left_in_group(const fs::path& group, const GroupFiles& files) {
  const Bytes limit = number(group / files.limit);
  const Bytes usage = number(group / files.usage);
  if (!limit || !usage) return std::nullopt;
  const std::int64_t used = *usage - field(group / "memory.stat", files.reclaimable).value_or(0);
  return std::max<std::int64_t>(0, *limit - std::max<std::int64_t>(0, used));
}

/// The least that the group at `path` and those above it leave. A container may not see its own
/// path, only the mount's root, which is then its group.
Bytes left_in_groups(const fs::path& mount, std::string_view path, const GroupFiles& files) {
  Bytes left = left_in_group(mount, files);
  fs::path group = mount;
  for (const fs::path& part : fs::path(path).relative_path()) {
    group /= part;
    left = least(left, left_in_group(group, files));
  }
  return left;
}

}  // namespace

Bytes rss_bytes() {
  return field("/proc/self/status", "VmRSS");
}

Bytes peak_rss_bytes() {
  return field("/proc/self/status", "VmHWM");
}

bool reset_peak_rss() {
  std::ofstream out("/proc/self/clear_refs");
  out << "5\n";  // see proc(5): resets VmHWM
  return static_cast<bool>(out.flush());
}

void release_freed_memory() {
  constexpr int large = 128 * 1024;  // glibc's default, which setting it keeps from growing
  mallopt(M_MMAP_THRESHOLD, large);
  malloc_trim(0);
}

Bytes memory_bytes() {
  return field("/proc/meminfo", "MemTotal");
}

Bytes available_memory_bytes(const fs::path& root) {
  Bytes available = field(root / "proc/meminfo", "MemAvailable");
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "4:memory:/path" (v1), "0::/path" (v2)
    const auto second = line.find(':', line.find(':') + 1);
    if (second == std::string::npos) continue;
    const std::string_view path = std::string_view(line).substr(second + 1);
    if (line.starts_with("0::"))
      available = least(available, left_in_groups(root / "sys/fs/cgroup", path, v2));
    else if (line.find(":memory:") != std::string::npos)
      available = least(available, left_in_groups(root / "sys/fs/cgroup/memory", path, v1));
  }
  return available;
}

}  // namespace kvmeter

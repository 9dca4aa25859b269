// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/record/durable_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "harness/core/error.hpp"

namespace kvmeter {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_errno(const fs::path& path, std::string_view action) {
  const int code = errno;
  fail("cannot {} '{}': {}", action, path.string(), std::strerror(code));
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

/// An open file descriptor; close() reports what the destructor cannot.
class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags) : m_path(path) {
    m_fd = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
    if (m_fd < 0) fail_errno(path, "open");
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (m_fd >= 0) ::close(m_fd);
  }

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::write(m_fd, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail_errno(m_path, "write");
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  }

  void sync() {
    if (::fsync(m_fd) != 0) fail_errno(m_path, "sync");
  }

  void close() {
    if (::close(std::exchange(m_fd, -1)) != 0) fail_errno(m_path, "close");
  }

 private:
  fs::path m_path;
  int m_fd = -1;
};

/// The temporary name beside a target; the file is removed again unless it was renamed to it.
class TemporaryFile {
 public:
  explicit TemporaryFile(const fs::path& target)
      : m_target(target), m_path(fmt::format("{}.tmp-{}", target.string(), ::getpid())) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!m_published) ::unlink(m_path.c_str());
  }

  void write(std::string_view bytes) const {
    Descriptor file(m_path, O_WRONLY | O_CREAT | O_TRUNC);
    file.write(bytes);
    file.sync();
    file.close();
  }

  void publish() {
    if (::rename(m_path.c_str(), m_target.c_str()) != 0) fail_errno(m_target, "replace");
    m_published = true;
    Descriptor(folder_of(m_target), O_RDONLY | O_DIRECTORY).sync();
  }

 private:
  fs::path m_target;
  fs::path m_path;
  bool m_published = false;
};

}  // namespace

void write_durably(const fs::path& path, std::string_view bytes) {
  TemporaryFile file(path);
  file.write(bytes);
  file.publish();
}

void check_writable(const fs::path& path) {
  std::error_code ignored;
  const fs::path folder = folder_of(path);
  KVMETER_EXPECTS(path.has_filename(), "output '{}': not a file name", path.string());
  KVMETER_EXPECTS(!fs::is_directory(path, ignored), "output '{}': is a folder, not a file",
                  path.string());
  KVMETER_EXPECTS(!fs::exists(path, ignored) || fs::is_regular_file(path, ignored),
                  "output '{}': is not a regular file", path.string());
  KVMETER_EXPECTS(fs::exists(folder, ignored), "output '{}': the folder '{}' does not exist",
                  path.string(), folder.string());
  KVMETER_EXPECTS(fs::is_directory(folder, ignored), "output '{}': '{}' is not a folder",
                  path.string(), folder.string());
  try {  // only trying tells about permissions, read-only file systems and full ones
    TemporaryFile(path).write("");
  } catch (const Error& error) {
    fail("output '{}': {}", path.string(), error.what());
  }
}

}  // namespace kvmeter

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/point_hash.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "harness/core/hash.hpp"

namespace kvmeter::run {
namespace {

/// Path, size and time of change: what tells one file from another without reading gigabytes.
std::string file_stamp(const std::filesystem::path& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  const auto time = std::filesystem::last_write_time(path, error);
  if (error) return path.string();
  return fmt::format("{} {} {}", path.string(), size, time.time_since_epoch().count());
}

std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The program's own bytes: what it was built from does not tell of uncommitted changes.
const std::string& program_hash() {
  static const std::string hash = hex(fnv1a(file_text("/proc/self/exe")));
  return hash;
}

}  // namespace

std::vector<std::string> hash_parts(const Setup& s) {
  std::vector<std::string> parts{program_hash(), file_text(s.files.config),
                                 fmt::format("{} {}", s.seed, effective_threads(s))};
  if (!s.random_weights()) {
    const std::filesystem::path one = s.files.weights / "model.safetensors";
    const std::filesystem::path index = s.files.weights / "model.safetensors.index.json";
    parts.push_back(file_stamp(std::filesystem::exists(one) ? one : index));
  }
  if (!s.point.text.empty()) parts.push_back(file_text(find_file(s.point.text)));
  return parts;
}

}  // namespace kvmeter::run

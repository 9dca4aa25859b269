// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/models.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>

#include "harness/core/error.hpp"
#include "harness/core/names.hpp"

namespace kvmeter::run {

namespace fs = std::filesystem;

namespace {

// As in scripts/checkpoints/fetch.py.
constexpr auto kFetched = std::to_array<std::string_view>({"smollm2-135m"});

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool is_home(const fs::path& folder) {
  return is_folder(folder / "workloads" / "models");
}

fs::path program_folder() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path();
}

fs::path config_of(const std::string& name) {
  return home() / "workloads" / "models" / (name + ".json");
}

fs::path checkpoint_of(const std::string& name) {
  return home() / "models" / name;
}

/// A plain name cannot lead out of the folders where names are looked up.
bool is_name(const std::string& text) {
  return !text.empty() && text.find('/') == std::string::npos && !text.starts_with('.');
}

bool is_checkpoint(const fs::path& folder) {
  return is_file(folder / "config.json");
}

std::string folder_name(const fs::path& folder) {
  const fs::path whole = fs::absolute(folder).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

[[noreturn]] void unknown_model(const std::string& name) {
  std::vector<std::string> known = model_names();
  std::ranges::copy(checkpoint_names(), std::back_inserter(known));
  const std::set<std::string> sorted(known.begin(), known.end());
  const std::vector<std::string_view> names(sorted.begin(), sorted.end());
  throw UsageError(fmt::format("model: {}, or a checkpoint folder with config.json",
                               unknown_name("model", name, names)));
}

[[noreturn]] void no_checkpoint(const std::string& name) {
  const std::vector<std::string> names = checkpoint_names();
  throw UsageError(fmt::format(
      "model: '{}' has no checkpoint in {}; allowed with weights = checkpoint: {}a checkpoint "
      "folder "
      "with config.json{}",
      name, (home() / "models").lexically_normal().string(),
      names.empty() ? "" : fmt::format("{}, or ", fmt::join(names, ", ")), fetch_hint(name)));
}

template <class Keep>
std::vector<std::string> names_in(const fs::path& folder, Keep&& keep) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (keep(entry.path()))
      names.push_back(
          (entry.is_directory() ? entry.path().filename() : entry.path().stem()).string());
  std::ranges::sort(names);
  return names;
}

}  // namespace

fs::path home() {
  if (const char* chosen = std::getenv("KVMETER_HOME")) {
    if (is_home(chosen)) return chosen;
    throw UsageError(fmt::format("KVMETER_HOME = {}: has no folder workloads/models", chosen));
  }
  if (is_home(".")) return ".";
  const fs::path start = program_folder();
  for (fs::path folder = start; folder.has_relative_path(); folder = folder.parent_path())
    if (is_home(folder)) return folder;
  return KVMETER_SOURCE_DIR;
}

ModelFiles find_model(const std::string& name_or_path, Weights weights) {
  const std::string& name = name_or_path;
  const bool random = weights == Weights::random;
  const bool plain = is_name(name);
  if (plain && random && is_file(config_of(name))) return {name, config_of(name), {}};
  if (plain && is_checkpoint(checkpoint_of(name)))
    return {name, checkpoint_of(name) / "config.json", checkpoint_of(name)};
  if (!name.empty() && is_checkpoint(name))
    return {folder_name(name), fs::path(name) / "config.json", name};
  if (is_folder(name) && !(plain && is_file(config_of(name))))
    throw UsageError(fmt::format("model: the folder {} has no config.json", name));
  if (random && is_file(name)) return {fs::path(name).stem().string(), name, {}};
  if (!random && (is_file(name) || (plain && is_file(config_of(name))))) no_checkpoint(name);
  unknown_model(name);
}

std::vector<std::string> model_names() {
  return names_in(home() / "workloads" / "models",
                  [](const fs::path& path) { return path.extension() == ".json"; });
}

std::vector<std::string> checkpoint_names() {
  return names_in(home() / "models", [](const fs::path& path) { return is_checkpoint(path); });
}

fs::path find_file(const fs::path& path) {
  std::error_code ignored;
  if (path.is_absolute() || fs::exists(path, ignored)) return path;
  const fs::path at_home = home() / path;
  return fs::exists(at_home, ignored) ? at_home : path;
}

std::string fetch_hint(std::string_view name) {
  if (std::ranges::find(kFetched, name) == kFetched.end()) return "";
  return fmt::format("; run scripts/fetch_model {}", name);
}

}  // namespace kvmeter::run

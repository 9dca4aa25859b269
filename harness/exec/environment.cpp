// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/environment.hpp"

#include <Kokkos_Core.hpp>

#include <sys/utsname.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>

#include "harness/core/error.hpp"
#include "harness/exec/memory.hpp"
#include "harness/exec/threads.hpp"

namespace kvmeter {
namespace {

std::string first_line(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

/// What follows "key : " in /proc/cpuinfo, of the first processor.
std::string cpuinfo(std::string_view key) {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with(key) && colon != std::string::npos) return line.substr(colon + 2);
  }
  return {};
}

/// "L1 Data 48K, L1 Instruction 32K, L2 Unified 2048K, ..." of the first processor.
std::string cpu_caches() {
  std::string caches;
  for (int i = 0;; ++i) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", i);
    const std::string size = first_line(folder + "size");
    if (size.empty()) return caches;
    caches += fmt::format("{}L{} {} {}", caches.empty() ? "" : ", ", first_line(folder + "level"),
                          first_line(folder + "type"), size);
  }
}

/// NAME=value of the variables that steer threads, back ends and libraries, one a line.
std::string variables() {
  std::string text;
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    for (const std::string_view prefix :
         {"OMP_", "GOMP_", "KMP_", "KOKKOS_", "CUDA_", "DNNL_", "ONEDNN_", "MALLOC_", "KVMETER_"})
      if (variable.starts_with(prefix)) text += fmt::format("{}\n", variable);
  }
  return text;
}

std::string kokkos_configuration() {
  std::ostringstream out;
  Kokkos::print_configuration(out);
  return out.str();
}

void add_text(Attributes& to, const std::string& name, const std::string& value) {
  if (!value.empty()) to[name] = value;
}

void add_build(Attributes& to) {
  const BuildInfo& build = build_info();
  add_text(to, "program_version", build.version);
  add_text(to, "git_commit", build.git_commit);
  if (!build.git_commit.empty()) to["git_dirty"] = std::int64_t{build.git_dirty};
  add_text(to, "compiler", build.compiler);
  add_text(to, "compiler_flags", build.compiler_flags);
  add_text(to, "build_type", build.build_type);
}

}  // namespace

Attributes environment() {
  Attributes all;
  add_build(all);
  all["kokkos_version"] = fmt::format("{}.{}.{}", KOKKOS_VERSION / 10000,
                                      KOKKOS_VERSION / 100 % 100, KOKKOS_VERSION % 100);
  all["kokkos_configuration"] = kokkos_configuration();
  all["library_versions"] = fmt::format("fmt {}.{}.{}\n", FMT_VERSION / 10000,
                                        FMT_VERSION / 100 % 100, FMT_VERSION % 100);
  add_text(all, "cpu", cpuinfo("model name"));
  all["cpu_count"] = std::int64_t{available_threads()};
  if (const auto memory = memory_bytes()) all["memory_bytes"] = *memory;
  if (utsname system{}; uname(&system) == 0) {
    all["operating_system"] =
        fmt::format("{} {} {}", system.sysname, system.release, system.machine);
    all["host"] = std::string(system.nodename);
  }
  all["environment"] = variables();
  return all;
}

Attributes machine_state() {
  Attributes all;
  add_text(all, "cpu_caches", cpu_caches());
  add_text(all, "cpu_governor",
           first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
  add_text(all, "cpu_mhz", cpuinfo("cpu MHz"));
  add_text(all, "huge_pages", first_line("/sys/kernel/mm/transparent_hugepage/enabled"));
  add_text(all, "load_average", first_line("/proc/loadavg"));
  if (const auto memory = available_memory_bytes()) all["available_memory_bytes"] = *memory;
  return all;
}

}  // namespace kvmeter

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Memory as the operating system counts it, in bytes (Linux, /proc). What it does not tell is
// nullopt.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace kvmeter {

/// Resident memory of this process, now.
std::optional<std::int64_t> rss_bytes();

/// The most resident memory since the start or the last reset_peak_rss.
std::optional<std::int64_t> peak_rss_bytes();

/// Lets peak_rss_bytes start again at what is resident now; false where the system refuses.
bool reset_peak_rss();

/// Gives freed memory back to the system, and lets every large allocation have pages of its own
/// from now on, so that what RSS grows by is what was allocated since (glibc).
void release_freed_memory();

/// Main memory of the machine.
std::optional<std::int64_t> memory_bytes();

/// Memory of the device that is in use, by whomever (cudaMemGetInfo); nullopt without a device.
std::optional<std::int64_t> device_used_bytes();

/// What this process can still allocate without swapping: the least of MemAvailable and of what the
/// limits of its control groups (v1 and v2, parents included) leave. `root` is "/" but in tests.
std::optional<std::int64_t> available_memory_bytes(const std::filesystem::path& root = "/");

}  // namespace kvmeter

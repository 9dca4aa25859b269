// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Files that are either the old one or the whole new one, whatever happens in between: written
// under a temporary name in the same folder, synced to the disk, renamed. Results and journals use
// it.
#pragma once

#include <filesystem>
#include <string_view>

namespace kvmeter {

/// Replaces or creates `path`. Throws Error on any failure, a full disk included, and then leaves
/// what was there; returns after file and folder are on the disk.
void write_durably(const std::filesystem::path& path, std::string_view bytes);

/// Throws Error, one line, unless write_durably(path, ...) can work: for use before a long run.
void check_writable(const std::filesystem::path& path);

}  // namespace kvmeter

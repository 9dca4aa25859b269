// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Reads a result file back into the records it was written from: the inverse of write_result().
#pragma once

#include <filesystem>
#include <vector>

#include "harness/core/record.hpp"

namespace kvmeter {

struct ResultFile {
  std::vector<PointRecord> records;  // [point]
  Attributes attributes;             // without schema_version, which is this program's
};

/// What is missing in the file is absent in the records. Names of choices are those of the file,
/// whatever this build knows. Throws Error naming file and variable where the file is no result, is
/// damaged, or has another schema version.
ResultFile read_result(const std::filesystem::path& path);

}  // namespace kvmeter

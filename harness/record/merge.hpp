// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Makes the result file from any set of journals: of one run, of the shards of a sweep, of
// machines.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "harness/core/record.hpp"
#include "harness/record/schema.hpp"

namespace kvmeter {

struct MergeSummary {
  std::size_t n_points = 0;
  std::size_t n_duplicates = 0;       // points that several journals hold; one of them is taken
  std::vector<std::string> problems;  // journal files that were ignored, and why
};

/// Writes all points of the journals, ordered by `order`. Idempotent: the same journals make the
/// same bytes. Of several records of one point a successful one is taken, else the first.
/// Attributes come from the journals; where they disagree texts are joined, numbers are left out
/// and named in `merge_notes`.
MergeSummary merge_journals(const std::filesystem::path& output,
                            std::span<const std::filesystem::path> journals,
                            const Vocabulary& vocabulary);

}  // namespace kvmeter

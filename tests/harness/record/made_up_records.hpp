// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Records that look like a small sweep with and without a cache, for tests of files and figures.
// The numbers are made up, the same each time.
#pragma once

#include <vector>

#include "harness/core/record.hpp"
#include "harness/record/schema.hpp"

namespace kvmeter::test {

/// Two caches x two elements x two prompt lengths; the last point is unsupported and has no
/// numbers.
std::vector<PointRecord> made_up_records();

Attributes made_up_attributes();
Vocabulary made_up_vocabulary();

}  // namespace kvmeter::test

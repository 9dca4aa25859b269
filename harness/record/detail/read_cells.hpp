// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The inverse of columns.hpp: one variable of a result file as values of records.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/core/record.hpp"
#include "harness/record/h5.hpp"
#include "harness/record/schema.hpp"

namespace kvmeter::detail {

using Cell = std::optional<RecordValue>;  // nothing where the value is missing

/// [point] Choices by the names that the file gives its codes. \param path for messages
std::vector<Cell> read_cells(const h5::Dataset& dataset, const std::string& path,
                             const Variable& variable);

}  // namespace kvmeter::detail

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Writes the result file: one HDF5 file that is also legal netCDF-4, with the dimensions `point`
// and `sample` and the variables of the schema (results/SCHEMA.md). Takes plain records, knows no
// model.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "harness/core/record.hpp"
#include "harness/record/schema.hpp"

namespace kvmeter {

/// "HDF5 1.10.8": what the files are written with.
std::string result_library();

/// Throws Error, one line, unless write_result can write there without harm: the path can be
/// written, and what is there already is a result or nothing.
void check_replaceable(const std::filesystem::path& path);

/// Replaces or creates the file as a whole (durable_file.hpp). Equal arguments give equal bytes.
/// Throws Error if a record does not fit the schema or the file cannot be written.
/// \param records one per point, in the order of the dimension `point`; none is fine
/// \param vocabulary the names by code of the choices whose sets are open
void write_result(const std::filesystem::path& path, std::span<const PointRecord> records,
                  const Attributes& attributes, const Vocabulary& vocabulary);

}  // namespace kvmeter

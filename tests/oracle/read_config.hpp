// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Reads the config.json of a test case into ModelConfig, apart from the reader that is under test.
#pragma once

#include <filesystem>

#include "harness/model/config.hpp"

namespace kvmeter::oracle {

ModelConfig read_config(const std::filesystem::path& folder);

}  // namespace kvmeter::oracle

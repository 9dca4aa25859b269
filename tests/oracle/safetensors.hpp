// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Reads safetensors files that are known to be sound; it checks little.
#pragma once

#include <filesystem>

#include "tests/oracle/tensor.hpp"

namespace kvmeter::oracle {

/// All tensors of one file, as doubles: F32, F16, BF16, I32, I64.
Tensors read_safetensors(const std::filesystem::path& file);

/// All tensors of a checkpoint folder: model.safetensors, or the shards its index names.
Tensors read_checkpoint(const std::filesystem::path& folder);

}  // namespace kvmeter::oracle

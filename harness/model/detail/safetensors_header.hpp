// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Reads and checks the header of a safetensors file. Trusts nothing: every offset is inside the
// data, every byte of the data belongs to exactly one tensor.
#pragma once

#include <span>
#include <string>

#include "harness/model/safetensors.hpp"

namespace kvmeter::detail {

/// The tensors of a whole file's bytes; `where` is the file in messages.
FileTensors parse_safetensors(std::span<const std::byte> file, const std::string& where);

}  // namespace kvmeter::detail

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The values of a float tensor of a safetensors file, on the host. Apart from safetensors.hpp
// because the 16-bit types come with Kokkos.
#pragma once

#include <vector>

#include "harness/model/safetensors.hpp"

namespace kvmeter {

/// All values of an F32, F16 or BF16 tensor, row-major. Throws Error on any other type.
std::vector<float> read_floats(const FileTensor& tensor);

}  // namespace kvmeter

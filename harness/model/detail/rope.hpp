// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The rotary position embedding of a config.json, in both spellings: `rope_parameters` of
// transformers 5, `rope_theta` and `rope_scaling` ("rope_type" or, older still, "type") before.
// Only the default and llama3 types; any other is refused by name.
#pragma once

#include "harness/model/config.hpp"
#include "harness/model/detail/json.hpp"

namespace kvmeter::detail {

/// Sets rope_theta and rope_scaling of `config`.
void read_rope(const JsonObject& file, ModelConfig& config);

}  // namespace kvmeter::detail

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Which layers attend to a sliding window only, as each family spells it in config.json.
#pragma once

#include "harness/model/config.hpp"
#include "harness/model/detail/families.hpp"
#include "harness/model/detail/json.hpp"

namespace kvmeter::detail {

/// Sets windows [n_layers] of `config`, whose n_layers is known.
void read_windows(const JsonObject& file, const Family& family, ModelConfig& config);

}  // namespace kvmeter::detail

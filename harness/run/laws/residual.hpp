// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The law of bytes: the formula holds for the record's own shape, and what the ledger counts is the
// formula's bytes and the parts that have a name, to the byte.
#pragma once

#include <string>
#include <vector>

#include "harness/run/laws/cache_facts.hpp"

namespace kvmeter::laws {

/// (K bits + V bits) / 8 x KV heads x head_dim x tokens over sequences and layers.
std::int64_t formula_bytes(const CacheFacts& facts);

/// What does not add up, a line each; none: the law holds.
std::vector<std::string> residual_mistakes(const CacheFacts& facts);

}  // namespace kvmeter::laws

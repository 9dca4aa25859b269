// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What the sequences of a point begin with.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/run/setup.hpp"

namespace kvmeter::run {

/// All ids of the point's text. Throws UsageError where it is shorter than a prompt or has ids
/// outside the vocabulary.
std::vector<std::int32_t> text_tokens(const Setup& setup);

/// [batch] prompts of prompt_tokens ids: cut from the text one after the other (from its start
/// again where it ends), or made up from the seed. Throws as text_tokens does.
std::vector<std::vector<std::int32_t>> make_prompts(const Setup& setup);

}  // namespace kvmeter::run

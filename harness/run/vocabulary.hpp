// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The open sets of names that result files store as codes.
#pragma once

#include "harness/record/schema.hpp"

namespace kvmeter::run {

/// Placements, codecs and attentions of this build under the keys that the schema asks for.
Vocabulary vocabulary();

}  // namespace kvmeter::run

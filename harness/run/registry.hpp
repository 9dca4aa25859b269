// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The variants of this build by name: where text from a sweep becomes a placement, a codec, an
// attention.
#pragma once

#include <span>
#include <string_view>

#include "harness/core/point.hpp"
#include "variants/block_cache.hpp"

namespace kvmeter::run {

struct VariantInfo {
  std::string_view name;
  std::string_view help;
};

/// In the order of the .def lists, which is that of the codes in result files.
std::span<const VariantInfo> placements();
std::span<const VariantInfo> codecs();
std::span<const VariantInfo> attentions();

/// The variants that a point names. Throws UsageError that lists what exists.
CacheRecipe recipe_of(const Point& point);

}  // namespace kvmeter::run

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/core/error.hpp"

namespace kvmeter::run {
namespace {

constexpr auto kPlacements = std::to_array<VariantInfo>({
#define KVMETER_PLACEMENT(name, Type, help) {#name, help},
#include "variants/placement/placements.def"
#undef KVMETER_PLACEMENT
});

constexpr auto kCodecs = std::to_array<VariantInfo>({
#define KVMETER_CODEC(name, Type, help) {#name, help},
#include "variants/codec/codecs.def"
#undef KVMETER_CODEC
});

constexpr auto kAttentions = std::to_array<VariantInfo>({
#define KVMETER_ATTENTION(name, Type, help) {#name, help},
#include "variants/attention/attentions.def"
#undef KVMETER_ATTENTION
});

template <class Id>
Id find(std::span<const VariantInfo> variants, std::string_view key, std::string_view name) {
  const auto found = std::find_if(variants.begin(), variants.end(),
                                  [&](const VariantInfo& v) { return v.name == name; });
  if (found != variants.end()) return static_cast<Id>(found - variants.begin());
  std::string allowed;
  for (const VariantInfo& v : variants)
    allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", v.name);
  throw UsageError(fmt::format("{} = {}: not in this build; allowed: {}", key, name, allowed));
}

}  // namespace

std::span<const VariantInfo> placements() {
  return kPlacements;
}
std::span<const VariantInfo> codecs() {
  return kCodecs;
}
std::span<const VariantInfo> attentions() {
  return kAttentions;
}

CacheRecipe recipe_of(const Point& point) {
  return {find<PlacementId>(kPlacements, "cache", point.cache),
          find<CodecId>(kCodecs, "k_element", point.k_element),
          find<CodecId>(kCodecs, "v_element", point.v_element),
          find<AttentionId>(kAttentions, "attention", point.attention)};
}

}  // namespace kvmeter::run

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Every combination of registered variants: the lists come from the .def files, so that a new
// variant is tested without an edit here.
#pragma once

#include <fmt/format.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "variants/block_cache.hpp"

namespace kvmeter::test {

template <class Id>
struct Named {
  std::string_view name;
  Id id;
};

inline constexpr auto placements = std::to_array<Named<PlacementId>>({
#define KVMETER_PLACEMENT(name, Type, help) {#name, PlacementId::name},
#include "variants/placement/placements.def"
#undef KVMETER_PLACEMENT
});

/// A codec and what it declares: |decoded - x| <= relative_error |x| + absolute_error.
struct CodecFacts {
  std::string_view name;
  CodecId id;
  double relative_error;
  double absolute_error;
};
inline constexpr auto codecs = std::to_array<CodecFacts>({
#define KVMETER_CODEC(name, Type, help) \
  {#name, CodecId::name, codec::Type::relative_error, codec::Type::absolute_error},
#include "variants/codec/codecs.def"
#undef KVMETER_CODEC
});

inline constexpr auto attentions = std::to_array<Named<AttentionId>>({
#define KVMETER_ATTENTION(name, Type, help) {#name, AttentionId::name},
#include "variants/attention/attentions.def"
#undef KVMETER_ATTENTION
});

struct Combination {
  Named<PlacementId> placement;
  CodecFacts k, v;
  Named<AttentionId> attention;

  [[nodiscard]] CacheRecipe recipe() const { return {placement.id, k.id, v.id, attention.id}; }
  [[nodiscard]] std::string name() const {
    return fmt::format("{} k={} v={} {}", placement.name, k.name, v.name, attention.name);
  }
};

/// Placement x K codec x V codec x attention.
inline std::vector<Combination> all_combinations() {
  std::vector<Combination> all;
  for (const auto& placement : placements)
    for (const auto& k : codecs)
      for (const auto& v : codecs)
        for (const auto& attention : attentions) all.push_back({placement, k, v, attention});
  return all;
}

/// Placement x attention, elements stored as they are.
inline std::vector<Combination> lossless_combinations() {
  std::vector<Combination> all;
  for (const Combination& c : all_combinations())
    if (c.k.id == CodecId::f32 && c.v.id == CodecId::f32) all.push_back(c);
  return all;
}

}  // namespace kvmeter::test

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
#define KVMETER_PLACEMENT(name, Type, help) {#name, PlacementId::Type},
#include "variants/placement/placements.def"
#undef KVMETER_PLACEMENT
});

/// A codec and what it declares: |decoded - x| <= relative_error |x| + largest_error (largest |x|
/// of the row) + absolute_error.
struct CodecFacts {
  std::string_view name;
  CodecId id;
  double relative_error;
  double absolute_error;
  double largest_error;
};
inline constexpr auto codecs = std::to_array<CodecFacts>({
#define KVMETER_CODEC(name, Type, help)                                            \
  {#name, CodecId::name, codec::Type::relative_error, codec::Type::absolute_error, \
   codec::Type::largest_error},
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

/// Memory is mapped page by page on the host alone.
inline bool runs_here([[maybe_unused]] PlacementId id) {
#if defined(KVMETER_TEST_ON_DEVICE)
  return !maps_pages(id);
#else
  return true;
#endif
}

/// Sanitizers make everything ten times slower: there tests of many sizes take some of them.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool thorough = false;
#else
inline constexpr bool thorough = true;
#endif

/// Else one codec with elements as they are and one of each kind of scale.
inline bool in_this_build(CodecId id) {
  return thorough || id == CodecId::f32 || id == CodecId::int4 || id == CodecId::int8_row;
}

/// Placement x codec of both K and V x attention, and every pair of codecs with one of each.
inline std::vector<Combination> all_combinations() {
  std::vector<Combination> all;
  for (const auto& k : codecs)
    for (const auto& v : codecs)
      for (const auto& placement : placements)
        for (const auto& attention : attentions)
          if (runs_here(placement.id) && in_this_build(k.id) && in_this_build(v.id) &&
              (k.id == v.id ||
               (placement.id == PlacementId::Paged && attention.id == AttentionId::online)))
            all.push_back({placement, k, v, attention});
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

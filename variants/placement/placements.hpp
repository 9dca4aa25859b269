// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// All placements of the build.
#pragma once

#include <memory>

#include "harness/cache/placement.hpp"
#include "variants/placement/includes.hpp"  // generated from placements.def: one line per placement

namespace kvmeter {

/// Named by type: `virtual` is no identifier.
enum class PlacementId : std::int32_t {
#define KVMETER_PLACEMENT(name, Type, help) Type,
#include "variants/placement/placements.def"
#undef KVMETER_PLACEMENT
};

inline std::unique_ptr<Placement> make_placement(PlacementId id, const PlacementSpec& spec) {
  switch (id) {
#define KVMETER_PLACEMENT(name, Type, help) \
  case PlacementId::Type:                   \
    return std::make_unique<placement::Type>(spec);
#include "variants/placement/placements.def"
#undef KVMETER_PLACEMENT
  }
  return nullptr;
}

/// Do the rows of this placement outlive the step that wrote them?
inline bool keeps_past(PlacementId id) {
  return make_placement(id, {})->keeps_past();
}

/// Does it keep only what later queries can see?
inline bool forgets_beyond_window(PlacementId id) {
  return make_placement(id, {})->forgets_beyond_window();
}

/// Do forked sequences share blocks?
inline bool shares_blocks(PlacementId id) {
  return make_placement(id, {})->shares_blocks();
}

/// Does it map memory page by page? The host alone can.
inline bool maps_pages(PlacementId id) {
  return make_placement(id, {})->maps_pages();
}

}  // namespace kvmeter

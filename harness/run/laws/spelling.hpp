// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Points by what tells them apart.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/record.hpp"

namespace kvmeter::laws {

/// Spells points of one file as "key=value" of the keys that differ between them, without defaults
/// that most of them have.
class Spelling {
 public:
  explicit Spelling(std::span<const PointRecord> records);

  /// The whole canonical spelling where nothing is left. \param left_out a key to leave out
  [[nodiscard]] std::string of(const Point& point, std::string_view left_out = "") const;

 private:
  struct Key {
    const PointKey* key;
    bool is_mostly_default;
  };
  std::vector<Key> m_keys;  // those that differ
};

}  // namespace kvmeter::laws

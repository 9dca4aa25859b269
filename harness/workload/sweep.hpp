// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Sweep files: TOML with [fixed] values, [axes] and [[zip]] tables that multiply, [[skip]] rules;
// or the same given by flags. Reading one yields the list of points in order, every mistake with
// file and line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/core/point.hpp"
#include "harness/core/stop.hpp"

namespace kvmeter {

struct SweepPoint {
  Point point;
  std::int64_t index = 0;                  // in the whole sweep, whatever the shard
  std::optional<std::string> skip_reason;  // from a [[skip]] rule
};

struct Sweep {
  std::string name;
  std::string description;
  std::string where;  // its file, for messages; empty where it was given by flags
  std::uint64_t seed = 1;
  std::string text;  // of the file, or the flags; stored in the result file
  StopRule stop;
  Limits limits;
  std::vector<SweepPoint> points;
};

/// Says what is wrong with a value of a key beyond its type (an unknown model, cache, codec, ...),
/// or nothing.
using ValueCheck = std::function<std::optional<std::string>(const PointKey&, const PointValue&)>;

/// `--set key=v1,v2`: replaces the key's values of the file by an axis, in the same place where the
/// key has a line of its own, else as the last and fastest axis. Settings go the same way:
/// stop.max_seconds=5.
using Overrides = std::vector<std::pair<std::string, std::string>>;

/// Reads a sweep file. Throws UsageError whose message has one line per mistake: "FILE:LINE: what;
/// allowed: ...".
Sweep read_sweep(const std::filesystem::path& file, const Overrides& overrides,
                 const ValueCheck& check);

/// The same from text; `where` stands for the file in messages.
Sweep parse_sweep(std::string_view toml, const std::string& where, const Overrides& overrides,
                  const ValueCheck& check);

/// A sweep given wholly by flags: key, "v1,v2,..."; a list is an axis.
Sweep sweep_from_flags(const Overrides& flags, const ValueCheck& check);

/// The sweep of one point in its canonical spelling, with settings and keys that it does not have.
Sweep sweep_from_point(std::string_view canonical_text, const Overrides& more,
                       const ValueCheck& check);

/// Point i of the result belongs to shard i % count.
void keep_shard(Sweep& sweep, std::int64_t index, std::int64_t count);

}  // namespace kvmeter

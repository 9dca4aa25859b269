// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/workload/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "harness/core/error.hpp"
#include "harness/core/quote.hpp"
#include "harness/workload/detail/stages.hpp"

namespace kvmeter {
namespace {

using sweep_detail::Context;
using sweep_detail::Place;
using sweep_detail::Spec;

std::string set_flag(std::string_view name) {
  return fmt::format("--set {}", name);
}

std::string own_flag(std::string_view name) {
  if (sweep_detail::keys_of(name).empty()) return set_flag(name);
  std::string flag = fmt::format("--{}", name);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

Sweep finish(Context& context, Spec spec, const Place& whole) {
  sweep_detail::check_axes(context, spec, whole);
  context.mistakes.throw_if_any();
  spec.sweep.points = sweep_detail::expand(context, spec, whole);
  context.mistakes.throw_if_any();
  return std::move(spec.sweep);
}

[[noreturn]] void unreadable(const std::filesystem::path& file, std::string_view why) {
  throw UsageError(fmt::format("{}: cannot be read: {}", file.string(), why));
}

std::string read_text(const std::filesystem::path& file) {
  if (std::filesystem::is_directory(file)) unreadable(file, "it is a folder");
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) unreadable(file, std::strerror(errno));
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// What stands for the text of a file when there is none, or is added to it.
std::string flags_text(const Overrides& overrides) {
  std::string text;
  for (const auto& [name, values] : overrides) text += fmt::format("# --set {}={}\n", name, values);
  return text;
}

}  // namespace

Sweep parse_sweep(std::string_view toml, const std::string& where, const Overrides& overrides,
                  const ValueCheck& check) {
  Context context{check, {}};
  Spec spec = sweep_detail::read_toml(context, toml, where);
  sweep_detail::apply_overrides(context, spec, overrides, set_flag);
  spec.sweep.where = where;
  spec.sweep.text = std::string(toml) + flags_text(overrides);
  if (spec.sweep.name.empty()) spec.sweep.name = std::filesystem::path(where).stem().string();
  return finish(context, std::move(spec), Place{where});
}

Sweep read_sweep(const std::filesystem::path& file, const Overrides& overrides,
                 const ValueCheck& check) {
  return parse_sweep(read_text(file), file.string(), overrides, check);
}

Sweep sweep_from_flags(const Overrides& flags, const ValueCheck& check) {
  Context context{check, {}};
  Spec spec;
  sweep_detail::apply_overrides(context, spec, flags, own_flag);
  spec.sweep.text = flags_text(flags);
  if (spec.sweep.name.empty()) spec.sweep.name = "flags";
  return finish(context, std::move(spec), Place{"flags"});
}

Sweep sweep_from_point(std::string_view canonical_text, const Overrides& more,
                       const ValueCheck& check) {
  const Point defaults;
  Overrides flags;
  try {
    const Point point = parse_point(canonical_text);
    for (const PointKey& key : point_keys()) {
      const PointValue value = get(point, key);
      if (value != get(defaults, key))
        flags.emplace_back(key.name, quote_if_needed(to_text(value), ','));
    }
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("--point: {}", error.what()));
  }
  std::ranges::copy(more, std::back_inserter(flags));
  return sweep_from_flags(flags, check);
}

void keep_shard(Sweep& sweep, std::int64_t index, std::int64_t count) {
  std::vector<SweepPoint> kept;
  for (std::size_t i = 0; i < sweep.points.size(); ++i)
    if (static_cast<std::int64_t>(i) % count == index) kept.push_back(std::move(sweep.points[i]));
  sweep.points = std::move(kept);
}

}  // namespace kvmeter

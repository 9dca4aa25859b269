// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/sweep_arguments.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>

#include "harness/cli/option_text.hpp"
#include "harness/core/error.hpp"
#include "harness/run/commands.hpp"

namespace kvmeter::cli {
namespace {

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::pair<std::int64_t, std::int64_t> parse_shard(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash != std::string::npos) {
    const auto index = whole_number(std::string_view(text).substr(0, slash));
    const auto count = whole_number(std::string_view(text).substr(slash + 1));
    if (index && count && *index >= 0 && *index < *count) return {*index, *count};
  }
  throw UsageError(fmt::format("--shard {}: not allowed; allowed: i/n with i from 0 to n-1", text));
}

}  // namespace

void SweepArguments::add(CLI::App& command) {
  command.add_option("sweep", m_file, wrapped("a sweep file; without it the flags are the sweep"))
      ->type_name("SWEEP.toml");
  command
      .add_option("--point", m_point,
                  wrapped("one point in its canonical spelling, as `kvmeter plan` prints it"))
      ->type_name("TEXT")
      ->group("Sweep");
  command.add_option("--shard", m_shard, wrapped("of every n points the one at i, from 0"))
      ->type_name("I/N")
      ->group("Sweep");
  m_flags.add_set(command);
  m_flags.add(command, Point{}, "V[,V..]");
}

Sweep SweepArguments::read(const CLI::App& command) const {
  const Overrides given = m_flags.given(command);
  const ValueCheck check = run::value_check();
  if (!m_point.empty() && !m_file.empty())
    throw UsageError(fmt::format("--point and {}: expected one of them", m_file));
  if (m_point.empty() && m_file.empty() && given.empty())
    throw UsageError(
        "no sweep given; allowed: SWEEP.toml, --point TEXT, or flags: --model NAME ...");
  Sweep sweep = !m_file.empty()    ? read_sweep(m_file, given, check)
                : !m_point.empty() ? sweep_from_point(m_point, given, check)
                                   : sweep_from_flags(given, check);
  if (!m_shard.empty()) {
    const auto [index, count] = parse_shard(m_shard);
    const std::size_t all = sweep.points.size();
    keep_shard(sweep, index, count);
    if (sweep.points.empty())
      throw UsageError(fmt::format("--shard {}: no point; the sweep has {}", m_shard, all));
  }
  return sweep;
}

}  // namespace kvmeter::cli

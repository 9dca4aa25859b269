// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/laws/claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

namespace kvmeter::laws {
namespace {

/// "label bytes", one a line.
std::vector<LiveLabel> parse_labels(const std::string& text) {
  std::vector<LiveLabel> labels;
  std::istringstream lines(text);
  for (LiveLabel label; lines >> label.label;) {
    if (!(lines >> label.bytes)) label.bytes = -1;  // not as it is written
    labels.push_back(label);
    if (label.bytes < 0) break;
  }
  return labels;
}

bool may_live(const LiveLabel& live) {
  constexpr auto known =
      std::to_array<std::string_view>({"k", "v", "offloaded_k", "offloaded_v", "staging_k",
                                       "staging_v", "block_table", "block_copies"});
  constexpr std::string_view area = "kvmeter::cache::";
  if (live.bytes < 0) return false;
  if (!live.label.starts_with(area)) return true;
  return std::ranges::find(known, live.label.substr(area.size())) != known.end();
}

/// Elements that are rounded may fall differently on the two ways; the check's bound allows for it.
std::optional<double> bound(const PointRecord& record) {
  constexpr double other_sums = 2e-4;  // f32 in another order
  if (record.point.k_element == "f32" && record.point.v_element == "f32") return other_sums;
  return find_value<double>(record, "check_bound");
}

}  // namespace

Claims claims_of(const PointRecord& record) {
  Claims c;
  c.rows_compared = find_value<std::int64_t>(record, "cache_rows_compared");
  c.rows_changed = find_value<std::int64_t>(record, "cache_rows_changed");
  c.rows_steps = find_value<std::int64_t>(record, "cache_rows_steps");
  if (c.rows_changed) c.rows = verdict_of(*c.rows_changed == 0);
  c.decode_difference = find_value<double>(record, "decode_max_difference");
  if (find_value<std::string>(record, "effective_weight_element") == "f32")
    c.decode_bound = bound(record);
  if (c.decode_difference && c.decode_bound)
    c.decode = verdict_of(*c.decode_difference <= *c.decode_bound);
  c.check_difference = find_value<double>(record, "check_max_difference");
  c.check_bound = find_value<double>(record, "check_bound");
  c.live = parse_labels(find_value<std::string>(record, "live_labels").value_or(""));
  if (!c.live.empty()) c.labels = verdict_of(std::ranges::all_of(c.live, may_live));
  return c;
}

std::vector<std::string> claim_mistakes(const Claims& c) {
  std::vector<std::string> mistakes;
  if (c.rows == Verdict::fails)
    mistakes.push_back(fmt::format("{} of {} rows are other bytes after {} steps", *c.rows_changed,
                                   c.rows_compared.value_or(0), c.rows_steps.value_or(0)));
  if (c.decode == Verdict::fails)
    mistakes.push_back(fmt::format(
        "prefill and one step differ from a longer prefill by {:.3g} of the largest logit; bound "
        "{:.3g}",
        *c.decode_difference, *c.decode_bound));
  if (c.check_difference && c.check_bound && !(*c.check_difference <= *c.check_bound))
    mistakes.push_back(
        fmt::format("the first steps differ from the reference by {:.3g}; bound {:.3g}",
                    *c.check_difference, *c.check_bound));
  for (const LiveLabel& live : c.live)
    if (!may_live(live))
      mistakes.push_back(fmt::format("{} is alive and is neither K, V nor a table", live.label));
  return mistakes;
}

}  // namespace kvmeter::laws

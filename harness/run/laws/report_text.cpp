// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "harness/core/text_table.hpp"
#include "harness/core/units.hpp"
#include "harness/run/laws/factor_table.hpp"
#include "harness/run/laws/report.hpp"

namespace kvmeter::laws {
namespace {

std::string bytes_text(const Report& report) {
  TextTable table({"formula", "ledger", "block rounding", "scales", "reserve", "staging", "tables",
                   "allocator", "shared", "unexplained", "verdict", "point"});
  for (const PointReport& point : report.points) {
    if (!point.facts) {
      std::vector<std::string> cells(10, "-");
      cells.insert(cells.end(), {std::string(word_of(point.bytes)), point.spelling});
      table.add_row(std::move(cells));
      continue;
    }
    const CacheFacts& f = *point.facts;
    table.add_row({format_bytes(f.formula), format_bytes(f.ledger), format_bytes(f.block_rounding),
                   format_bytes(f.scale), format_bytes(f.reserve), format_bytes(f.staging),
                   format_bytes(f.table), format_bytes(f.allocator), format_bytes(-f.shared),
                   format_bytes(f.unexplained), std::string(word_of(point.bytes)), point.spelling});
  }
  return "Bytes: ledger = formula + what is to the right of it, nothing unexplained\n" +
         table.text();
}

std::string resident_text(const Report& report) {
  TextTable table({"ledger", "resident", "ratio", "verdict", "point"});
  bool any = false;
  for (const PointReport& point : report.points) {
    if (!point.resident) continue;
    any = true;
    table.add_row({format_bytes(point.facts->ledger), format_bytes(*point.facts->resident),
                   fmt::format("{:.4f}", point.resident->ratio),
                   std::string(word_of(point.resident->verdict)), point.spelling});
  }
  if (!any) return "";
  return fmt::format("\nResident memory: within {} % of the ledger, from {} on\n{}",
                     100 * resident_tolerance, format_bytes(resident_law_bytes), table.text());
}

std::string per_layer(const PointReport& point, std::optional<std::int64_t> total) {
  if (!total || point.layers <= 0) return "-";
  if (*total % point.layers == 0) return format_count(*total / point.layers);
  return fmt::format("{:.3f}", static_cast<double>(*total) / static_cast<double>(point.layers));
}

std::string work_text(const Report& report) {
  TextTable table({"tokens at end", "counted", "expected", "verdict", "point"});
  for (const PointReport& point : report.points)
    table.add_row({format_count(point.tokens_at_end), per_layer(point, point.projections),
                   per_layer(point, point.expected_projections), std::string(word_of(point.work)),
                   point.spelling});
  return "\nK/V computations of a layer, over the batch\n" + table.text();
}

/// Why a difference has no verdict.
std::string unjudged_text(const Report& report) {
  const auto unjudged = [](const PointReport& point) {
    return point.claims.decode_difference && !point.claims.decode_bound;
  };
  const auto n = std::ranges::count_if(report.points, unjudged);
  if (n == 0) return "";
  return fmt::format(
      "decode - prefill of {} point{} is shown and not judged: weights that are not f32 may round "
      "in long steps\n",
      n, n == 1 ? "" : "s");
}

std::string claims_text(const Report& report) {
  TextTable table({"rows compared", "steps", "changed", "verdict", "decode - prefill", "bound",
                   "verdict", "labels of the cache", "point"});
  const auto number = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.2e}", *value) : "-";
  };
  const auto count = [](const std::optional<std::int64_t>& value) {
    return value ? format_count(*value) : "-";
  };
  bool any = false;
  for (const PointReport& point : report.points) {
    const Claims& c = point.claims;
    any = any || c.rows_changed || c.decode_difference || !c.live.empty();
    table.add_row({count(c.rows_compared), count(c.rows_steps), count(c.rows_changed),
                   std::string(word_of(c.rows)), number(c.decode_difference),
                   number(c.decode_bound), std::string(word_of(c.decode)),
                   std::string(word_of(c.labels)), point.spelling});
  }
  if (!any) return "";
  return "\nRows never change, decoding is prefilling, the cache is K, V and tables\n" +
         table.text() + unjudged_text(report);
}

/// Of few points only: it is long.
std::string live_text(const Report& report) {
  constexpr std::size_t most_points = 4;
  if (report.points.size() > most_points) return "";
  TextTable table({"alive after the last step", "bytes", "point"});
  bool any = false;
  for (const PointReport& point : report.points)
    for (const LiveLabel& live : point.claims.live) {
      any = true;
      table.add_row({live.label, format_bytes(live.bytes), point.spelling});
    }
  return any ? fmt::format("\n{}", table.text()) : "";
}

std::string growth_text(const Report& report) {
  if (report.growth.empty()) return "";
  const auto number = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.3f}", *value) : "-";
  };
  TextTable table({"from", "to", "computations", "total time", "points"});
  for (const auto& [spelling, growth] : report.growth)
    table.add_row({format_count(growth.from), format_count(growth.to), number(growth.projections),
                   number(growth.total_s), spelling});
  return "\nGrowth with the tokens at the end: exponents, no law\n" + table.text();
}

std::string unmeasured_text(const Report& report) {
  if (report.unmeasured.empty()) return "";
  TextTable table({"status", "point", "message"});
  for (const Unmeasured& point : report.unmeasured)
    table.add_row({point.status, point.spelling, point.message});
  return "\nNot measured\n" + table.text();
}

std::string verdict_text(const Report& report) {
  if (report.points.empty()) return "\nno point to verify\n";
  if (report.broken.empty())
    return fmt::format("\nall laws hold for {} point{}\n", report.points.size(),
                       report.points.size() == 1 ? "" : "s");
  std::string text = "\n";
  for (const std::string& line : report.broken) text += fmt::format("FAILS: {}\n", line);
  return text;
}

}  // namespace

std::string text_of(const Report& report) {
  if (report.points.empty()) return unmeasured_text(report) + verdict_text(report);
  return bytes_text(report) + resident_text(report) + factors_text(report) + work_text(report) +
         growth_text(report) + claims_text(report) + live_text(report) + unmeasured_text(report) +
         verdict_text(report);
}

}  // namespace kvmeter::laws

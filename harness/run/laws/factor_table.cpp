// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/laws/factor_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <vector>

#include "harness/core/text_table.hpp"

namespace kvmeter::laws {
namespace {

/// The fit that is farthest off, and whether all of them hold.
struct Worst {
  std::string exponent = "-", prefactor = "-";
  Verdict verdict = Verdict::none;
};

Worst worst_of(const std::vector<Fit>& fits) {
  if (fits.empty()) return {};
  const auto farthest = [&](double Fit::*member, double right) {
    const auto off = [&](const Fit& fit) { return std::abs(fit.*member - right); };
    return fmt::format("{:.3f}", std::ranges::max(fits, {}, off).*member);
  };
  const Verdict verdict = std::ranges::max(fits, {}, &Fit::verdict).verdict;
  return {farthest(&Fit::exponent, 1), farthest(&Fit::prefactor, 2), verdict};
}

std::vector<std::string> cells_of(const Worst& worst) {
  return {worst.exponent, worst.prefactor, std::string(word_of(worst.verdict))};
}

struct FactorRow {
  std::vector<std::string> cells;
  std::vector<std::string> resident;  // further cells
};

FactorRow factor_row(std::string_view factor, const std::vector<Family>& families) {
  std::vector<Fit> ledger, resident;
  std::size_t n_points = 0;
  double from = std::numeric_limits<double>::infinity(), to = 0;
  for (const Family& family : families) {
    if (family.factor != factor) continue;
    n_points += family.n_points;
    from = std::min(from, family.from);
    to = std::max(to, family.to);
    ledger.push_back(family.ledger);
    if (family.resident) resident.push_back(*family.resident);
  }
  FactorRow row{{std::string(factor), "-", "-", "-", "-"}, cells_of(worst_of(resident))};
  if (!ledger.empty())
    row.cells = {std::string(factor), fmt::format("{}", ledger.size()), fmt::format("{}", n_points),
                 fmt::format("{}", from), fmt::format("{}", to)};
  std::ranges::copy(cells_of(worst_of(ledger)), std::back_inserter(row.cells));
  return row;
}

/// The prefactor alone, of all points that have a cache.
FactorRow all_row(const Report& report) {
  std::vector<Fit> fits;
  for (const PointReport& point : report.points) {
    if (!point.facts || point.facts->tokens == 0) continue;
    const double found = prefactor(*point.facts);
    fits.push_back({1, found, verdict_of(std::abs(found - 2) <= prefactor_tolerance)});
  }
  const Worst worst = worst_of(fits);
  return {{"all", "-", fmt::format("{}", fits.size()), "-", "-", "-", worst.prefactor,
           std::string(word_of(worst.verdict))},
          {"-", "-", "-"}};
}

}  // namespace

std::string factors_text(const Report& report) {
  const bool resident = std::ranges::any_of(
      report.families, [](const Family& family) { return family.resident.has_value(); });
  std::vector<std::string> heads{"factor", "families", "points",    "from",
                                 "to",     "exponent", "prefactor", "verdict"};
  if (resident) heads.insert(heads.end(), {"exponent, resident", "prefactor", "verdict"});
  TextTable table(heads);
  const auto add = [&](FactorRow row) {
    if (resident) std::ranges::copy(row.resident, std::back_inserter(row.cells));
    table.add_row(std::move(row.cells));
  };
  for (const std::string_view factor : factor_names()) add(factor_row(factor, report.families));
  add(all_row(report));
  return "\nProportion: bytes over each factor by itself, exponent 1 and prefactor 2; of several "
         "families the worst\n" +
         table.text();
}

}  // namespace kvmeter::laws

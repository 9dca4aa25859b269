// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/laws/factors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "harness/measure/statistics.hpp"
#include "harness/run/laws/resident.hpp"

namespace kvmeter::laws {
namespace {

constexpr std::size_t kFactors = 6;
using Factors = std::array<double, kFactors>;
constexpr std::array<std::string_view, kFactors> kNames{"layers", "kv_heads", "head_dim",
                                                        "tokens", "batch",    "element_bytes"};

Factors factors_of(const CacheFacts& f) {
  return {static_cast<double>(f.layers),   static_cast<double>(f.kv_heads),
          static_cast<double>(f.head_dim), f.tokens_per_sequence(),
          static_cast<double>(f.batch),    static_cast<double>(f.kv_bits) / 16};
}

double product(const CacheFacts& facts) {
  double result = 1;
  for (const double factor : factors_of(facts)) result *= factor;
  return result;
}

/// The formula's share of what was counted: the rest is explained.
double counted(const CacheFacts& facts, std::int64_t bytes) {
  return static_cast<double>(bytes - facts.explained());
}

using Members = std::vector<const CacheFacts*>;

/// \param bytes what was counted for a point \param tolerance of exponent, and of prefactor
template <class Bytes>
Fit fit(const Members& members, std::size_t factor, const Bytes& bytes, bool is_law,
        std::pair<double, double> tolerance) {
  std::vector<double> x, y;
  Fit result{std::nan(""), 2};
  for (const CacheFacts* facts : members) {
    x.push_back(factors_of(*facts)[factor]);
    y.push_back(counted(*facts, bytes(*facts)));
    const double found = y.back() / product(*facts);
    if (std::abs(found - 2) > std::abs(result.prefactor - 2)) result.prefactor = found;
  }
  if (const auto law = measure::power_law(x, y)) result.exponent = law->exponent;
  const auto [of_exponent, of_prefactor] = tolerance;
  if (is_law)
    result.verdict = verdict_of(std::abs(result.exponent - 1) <= of_exponent &&
                                std::abs(result.prefactor - 2) <= of_prefactor);
  return result;
}

Fit fit_ledger(const Members& members, std::size_t factor) {
  return fit(members, factor, [](const CacheFacts& f) { return f.ledger; }, true,
             {exponent_tolerance, prefactor_tolerance});
}

std::optional<Fit> fit_resident(const Members& members, std::size_t factor) {
  const auto shown = [](const CacheFacts* f) { return resident_memory(*f).has_value(); };
  const auto lawful = [](const CacheFacts* f) {
    return resident_memory(*f)->verdict != Verdict::none && f->formula >= resident_law_bytes;
  };
  if (!std::ranges::all_of(members, shown)) return std::nullopt;
  return fit(members, factor, [](const CacheFacts& f) { return *f.resident; },
             std::ranges::all_of(members, lawful), {resident_tolerance, 2 * resident_tolerance});
}

/// Nothing unless the factor takes two values.
std::optional<Family> make_family(const Members& members, std::size_t factor) {
  const auto [least, most] = std::ranges::minmax(
      members, {}, [&](const CacheFacts* facts) { return factors_of(*facts)[factor]; });
  const double from = factors_of(*least)[factor], to = factors_of(*most)[factor];
  if (from == to) return std::nullopt;
  return Family{.factor = kNames[factor],
                .placement = members.front()->placement,
                .n_points = members.size(),
                .from = from,
                .to = to,
                .ledger = fit_ledger(members, factor),
                .resident = fit_resident(members, factor)};
}

}  // namespace

std::vector<std::string_view> factor_names() {
  return {kNames.begin(), kNames.end()};
}

double prefactor(const CacheFacts& facts) {
  return counted(facts, facts.ledger) / product(facts);
}

std::vector<Family> families_of(std::span<const CacheFacts> points) {
  std::vector<Family> families;
  for (std::size_t factor = 0; factor < kFactors; ++factor) {
    std::map<std::pair<std::string, Factors>, Members> others;  // by what they have in common
    for (const CacheFacts& facts : points) {
      if (facts.tokens == 0) continue;
      Factors common = factors_of(facts);
      common[factor] = 0;
      others[{facts.placement, common}].push_back(&facts);
    }
    for (const auto& [common, members] : others)
      if (auto family = make_family(members, factor)) families.push_back(std::move(*family));
  }
  return families;
}

}  // namespace kvmeter::laws

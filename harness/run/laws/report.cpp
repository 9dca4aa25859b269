// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/laws/report.hpp"

#include <fmt/format.h>

#include <utility>

#include "harness/core/error.hpp"
#include "harness/run/laws/parts.hpp"
#include "harness/run/laws/residual.hpp"
#include "harness/run/laws/spelling.hpp"

namespace kvmeter::laws {
namespace {

void hold_bytes(const PointRecord& record, PointReport& point, std::vector<std::string>& broken) {
  std::vector<std::string> mistakes;
  try {
    point.facts = cache_facts(record);
    mistakes = residual_mistakes(*point.facts);
    for (std::string& mistake : part_mistakes(*point.facts)) mistakes.push_back(std::move(mistake));
  } catch (const Error& error) {
    mistakes.emplace_back(error.what());
  }
  point.bytes = verdict_of(mistakes.empty());
  for (const std::string& mistake : mistakes)
    broken.push_back(fmt::format("bytes: {}: {}", point.spelling, mistake));
}

void hold_resident(PointReport& point, std::vector<std::string>& broken) {
  if (!point.facts) return;
  point.resident = resident_memory(*point.facts);
  if (!point.resident || point.resident->verdict != Verdict::fails) return;
  broken.push_back(fmt::format("resident memory: {}: {} bytes against {} in the ledger, {:.4f}",
                               point.spelling, *point.facts->resident, point.facts->ledger,
                               point.resident->ratio));
}

void hold_work(const PointRecord& record, PointReport& point, std::vector<std::string>& broken) {
  point.projections = find_value<std::int64_t>(record, "kv_projections");
  point.layers = find_value<std::int64_t>(record, "effective_n_layers").value_or(0);
  point.tokens_at_end = tokens_at_end(record.point);
  if (may_have_ended_early(record)) return;
  point.expected_projections = point.layers * expected_projections(record.point);
  point.work = verdict_of(point.layers > 0 && point.projections == point.expected_projections);
  if (point.work == Verdict::holds) return;
  broken.push_back(fmt::format(
      "K/V computations: {}: {}, expected {}", point.spelling,
      point.projections ? fmt::format("{}", *point.projections) : "kv_projections is missing",
      *point.expected_projections));
}

void hold_claims(const PointRecord& record, PointReport& point, std::vector<std::string>& broken) {
  point.claims = claims_of(record);
  for (const std::string& mistake : claim_mistakes(point.claims))
    broken.push_back(fmt::format("claims: {}: {}", point.spelling, mistake));
}

PointReport hold_point(const PointRecord& record, std::string spelling,
                       std::vector<std::string>& broken) {
  PointReport point;
  point.spelling = std::move(spelling);
  hold_bytes(record, point, broken);
  hold_resident(point, broken);
  hold_work(record, point, broken);
  hold_claims(record, point, broken);
  return point;
}

void hold_fit(const Family& family, const Fit& fit, std::string_view what,
              std::vector<std::string>& broken) {
  if (fit.verdict != Verdict::fails) return;
  broken.push_back(fmt::format(
      "proportion: {} over {} from {} to {}, cache={}: exponent {:.4f}, prefactor {:.4f}", what,
      family.factor, family.from, family.to, family.placement, fit.exponent, fit.prefactor));
}

void hold_families(Report& report) {
  std::vector<CacheFacts> facts;
  for (const PointReport& point : report.points)
    if (point.facts) facts.push_back(*point.facts);
  report.families = families_of(facts);
  for (const Family& family : report.families) {
    hold_fit(family, family.ledger, "ledger", report.broken);
    if (family.resident) hold_fit(family, *family.resident, "resident memory", report.broken);
  }
}

}  // namespace

Report hold_against_laws(std::span<const PointRecord> records) {
  Report report;
  const Spelling spelling(records);
  std::vector<const PointRecord*> ok;
  for (const PointRecord& record : records) {
    std::string text = spelling.of(record.point);
    if (record.status != Status::ok) {
      report.unmeasured.push_back(
          {std::move(text), std::string(name_of(record.status)), record.message});
      continue;
    }
    ok.push_back(&record);
    report.points.push_back(hold_point(record, std::move(text), report.broken));
  }
  hold_families(report);
  for (const Growth& growth : growth_of(ok))
    report.growth.push_back({spelling.of(growth.point, "new_tokens"), growth});
  return report;
}

}  // namespace kvmeter::laws

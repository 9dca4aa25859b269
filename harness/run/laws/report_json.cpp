// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "harness/run/laws/report.hpp"
#include "harness/run/laws/residual.hpp"

namespace kvmeter::laws {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json json_of(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json json_of(Verdict verdict) {
  return verdict == Verdict::none ? Json() : Json(verdict == Verdict::holds);
}

Json json_of(const CacheFacts& f) {
  return {{"formula_bytes", f.formula},
          {"formula_again_bytes", formula_bytes(f)},
          {"ledger_bytes", f.ledger},
          {"live_bytes", f.live},
          {"allocated_bytes", f.allocated},
          {"metadata_bytes", f.metadata},
          {"block_rounding_bytes", f.block_rounding},
          {"scale_bytes", f.scale},
          {"reserve_bytes", f.reserve},
          {"staging_bytes", f.staging},
          {"table_bytes", f.table},
          {"allocator_bytes", f.allocator},
          {"shared_bytes", f.shared},
          {"unexplained_bytes", f.unexplained},
          {"resident_bytes", json_of(f.resident)},
          {"prefactor", f.tokens > 0 ? Json(prefactor(f)) : Json()}};
}

Json json_of(const PointReport& point) {
  return {{"point", point.spelling},
          {"bytes", point.facts ? json_of(*point.facts) : Json()},
          {"bytes_hold", json_of(point.bytes)},
          {"resident_ratio", point.resident ? Json(point.resident->ratio) : Json()},
          {"resident_holds", point.resident ? json_of(point.resident->verdict) : Json()},
          {"tokens_at_end", point.tokens_at_end},
          {"kv_projections", json_of(point.projections)},
          {"expected_kv_projections", json_of(point.expected_projections)},
          {"kv_projections_hold", json_of(point.work)},
          {"rows_compared", json_of(point.claims.rows_compared)},
          {"rows_changed", json_of(point.claims.rows_changed)},
          {"rows_steps", json_of(point.claims.rows_steps)},
          {"decode_max_difference", json_of(point.claims.decode_difference)},
          {"decode_holds", json_of(point.claims.decode)},
          {"labels_hold", json_of(point.claims.labels)}};
}

Json json_of(const Fit& fit) {
  return {
      {"exponent", fit.exponent}, {"prefactor", fit.prefactor}, {"holds", json_of(fit.verdict)}};
}

Json json_of(const Family& family) {
  return {{"factor", family.factor},
          {"cache", family.placement},
          {"n_points", family.n_points},
          {"from", family.from},
          {"to", family.to},
          {"ledger", json_of(family.ledger)},
          {"resident", family.resident ? json_of(*family.resident) : Json()}};
}

Json json_of(const GrowthReport& report) {
  return {{"points", report.spelling},
          {"n_points", report.growth.n_points},
          {"from", report.growth.from},
          {"to", report.growth.to},
          {"kv_projections_exponent", json_of(report.growth.projections)},
          {"total_s_exponent", json_of(report.growth.total_s)}};
}

Json json_of(const Unmeasured& point) {
  return {{"point", point.spelling}, {"status", point.status}, {"message", point.message}};
}

template <class Items>
Json array_of(const Items& items) {
  Json array = Json::array();
  for (const auto& item : items) array.push_back(json_of(item));
  return array;
}

}  // namespace

std::string json_of(const Report& report) {
  const Json json{
      {"holds", report.holds()},           {"broken", report.broken},
      {"points", array_of(report.points)}, {"factors", array_of(report.families)},
      {"growth", array_of(report.growth)}, {"not_measured", array_of(report.unmeasured)}};
  return json.dump(2);
}

}  // namespace kvmeter::laws

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/harness/run/laws/lawful_record.hpp"

#include <map>

namespace kvmeter::test {
namespace {

std::int64_t element_bits(const std::string& element) {
  const std::map<std::string, std::int64_t> bits{
      {"f32", 32}, {"f16", 16}, {"int8", 8}, {"int4", 4}};
  return bits.at(element);
}

/// Counted one step after the other, as a decoder would.
std::int64_t count_projections(const Point& p) {
  std::int64_t count = 0;
  const std::int64_t shared = p.cache == "none" ? 0 : p.shared_prefix_tokens;
  for (std::int64_t sequence = 0; sequence < p.batch; ++sequence) {
    if (p.prefill == "compute") count += p.prompt_tokens - (sequence == 0 ? 0 : shared);
    for (std::int64_t step = 1; step < p.new_tokens; ++step)
      count += p.cache == "none" ? p.prompt_tokens + step : 1;
  }
  return count;
}

void put_bytes(PointRecord& record, const Shape& s) {
  const Point& p = record.point;
  const std::int64_t kept =
      p.cache == "none" ? 0 : s.layers * p.batch * (p.prompt_tokens + p.new_tokens - 1);
  const std::int64_t formula =
      kept * s.kv_heads * s.head_dim * (element_bits(p.k_element) + element_bits(p.v_element)) / 8;
  const std::int64_t live = formula + s.scale - s.shared;
  const std::int64_t allocated = live + s.block_rounding + s.reserve;
  const std::int64_t ledger = allocated + s.staging + s.table + s.allocator;
  const std::map<std::string, std::int64_t> bytes{
      {"formula", formula},    {"scale", s.scale},
      {"shared", s.shared},    {"block_rounding", s.block_rounding},
      {"reserve", s.reserve},  {"staging", s.staging},
      {"table", s.table},      {"allocator", s.allocator},
      {"live", live},          {"allocated", allocated},
      {"reserved", allocated}, {"offloaded", 0},
      {"ledger_peak", ledger}, {"metadata", s.scale + s.table},
      {"ledger", ledger},      {"unexplained", 0}};
  for (const auto& [name, value] : bytes) record.values["cache_" + name + "_bytes"] = value;
  record.values["cache_tokens"] = kept;
  record.values["rss_cache_bytes"] = ledger + 4096;
}

}  // namespace

PointRecord lawful_record(const Point& point, const Shape& shape) {
  PointRecord record;
  record.point = point;
  put_bytes(record, shape);
  record.values["effective_n_layers"] = shape.layers;
  record.values["n_kv_heads"] = shape.kv_heads;
  record.values["head_dim"] = shape.head_dim;
  record.values["kv_projections"] = shape.layers * count_projections(point);
  record.values["n_generated"] = point.new_tokens;
  record.values["total_s"] = 1e-3 * static_cast<double>(point.prompt_tokens + point.new_tokens - 1);
  return record;
}

Point made_up_point(const std::string& cache, std::int64_t prompt_tokens, std::int64_t new_tokens) {
  Point point;
  point.model = "tiny";
  point.cache = cache;
  point.prompt_tokens = prompt_tokens;
  point.new_tokens = new_tokens;
  return point;
}

void spoil(PointRecord& record, const std::string& name, std::int64_t by) {
  std::get<std::int64_t>(record.values.at(name)) += by;
}

}  // namespace kvmeter::test

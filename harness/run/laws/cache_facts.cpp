// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/laws/cache_facts.hpp"

#include "harness/core/error.hpp"
#include "harness/run/laws/element_bits.hpp"
#include "harness/run/laws/projections.hpp"

namespace kvmeter::laws {
namespace {

/// The element that really ran; where the record does not say, the one asked for.
std::string element_of(const PointRecord& record, const std::string& key) {
  const auto effective = find_value<std::string>(record, "effective_" + key);
  return effective.value_or(std::get<std::string>(get(record.point, *find_point_key(key))));
}

std::int64_t element_bits(const PointRecord& record, const std::string& key) {
  const std::string name = element_of(record, key);
  const auto bits = find_element_bits(name);
  KVMETER_EXPECTS(bits.has_value(), "{} = {}: its size is not known to verify", key, name);
  return *bits;
}

std::int64_t whole(const PointRecord& record, const std::string& name) {
  const auto value = find_value<std::int64_t>(record, name);
  KVMETER_EXPECTS(value.has_value(), "{} is missing", name);
  return *value;
}

}  // namespace

CacheFacts cache_facts(const PointRecord& record) {
  const auto shape = [&](const char* name) {
    const std::int64_t value = whole(record, name);
    KVMETER_EXPECTS(value > 0, "{} = {}: expected a number from 1", name, value);
    return value;
  };
  const auto bytes = [&](const char* what) {
    return whole(record, fmt::format("cache_{}_bytes", what));
  };
  return {.placement = record.point.cache,
          .layers = shape("effective_n_layers"),
          .kv_heads = shape("n_kv_heads"),
          .head_dim = shape("head_dim"),
          .batch = record.point.batch,
          .tokens_at_end = tokens_at_end(record.point),
          .may_end_early = may_have_ended_early(record),
          .tokens = whole(record, "cache_tokens"),
          .kv_bits = element_bits(record, "k_element") + element_bits(record, "v_element"),
          .row_extra = row_extra_bytes(element_of(record, "k_element"), shape("head_dim")) +
                       row_extra_bytes(element_of(record, "v_element"), shape("head_dim")),
          .block_tokens = record.point.block_tokens,
          .window = find_value<std::int64_t>(record, "effective_window_tokens").value_or(0),
          .sinks = record.point.sink_tokens,
          .shared_prefix = record.point.shared_prefix_tokens,
          .offload_layers = record.point.offload_layers,
          .formula = bytes("formula"),
          .scale = bytes("scale"),
          .shared = bytes("shared"),
          .block_rounding = bytes("block_rounding"),
          .reserve = bytes("reserve"),
          .staging = bytes("staging"),
          .table = bytes("table"),
          .allocator = bytes("allocator"),
          .live = bytes("live"),
          .allocated = bytes("allocated"),
          .reserved = bytes("reserved"),
          .offloaded = bytes("offloaded"),
          .metadata = bytes("metadata"),
          .ledger = bytes("ledger"),
          .ledger_peak = bytes("ledger_peak"),
          .unexplained = bytes("unexplained"),
          .resident = record.point.backend == "cuda"
                          ? std::nullopt
                          : find_value<std::int64_t>(record, "rss_cache_bytes")};
}

}  // namespace kvmeter::laws

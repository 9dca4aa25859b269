// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/summarize.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/measure/statistics.hpp"

namespace kvmeter::run {
namespace {

/// value(sample) of the phase's samples, warm-up left out.
template <class Value>
std::vector<double> steady(const PointRecord& record, Phase phase, const Value& value) {
  std::vector<double> values;
  for (const Sample& sample : record.samples)
    if (sample.phase == phase && !sample.is_warmup) values.push_back(value(sample));
  return values;
}

std::vector<double> steady_times(const PointRecord& record, Phase phase) {
  return steady(record, phase, [](const Sample& sample) { return sample.time_s; });
}

/// Prompt tokens per second: those of every sequence, though a prefix in common is taken in once.
std::vector<double> prefill_rates(const PointRecord& record) {
  const auto n_tokens = static_cast<double>(record.point.batch * record.point.prompt_tokens);
  return steady(record, Phase::prefill,
                [&](const Sample& sample) { return n_tokens / sample.time_s; });
}

/// Tokens per second of each step: fewer tokens where sequences have ended.
std::vector<double> decode_rates(const PointRecord& record) {
  return steady(record, Phase::decode, [](const Sample& sample) {
    return static_cast<double>(sample.n_tokens) / sample.time_s;
  });
}

/// `name` and its interval's ends.
void put_median(PointRecord& record, const std::string& name, const std::vector<double>& values) {
  if (values.empty()) return;
  record.values[name] = measure::median(values);
  if (const auto interval = measure::median_interval(values)) {
    record.values[name + "_ci_low"] = interval->low;
    record.values[name + "_ci_high"] = interval->high;
  }
}

/// Did every generation take the steps that the costs are declared for?
bool went_to_the_end(const Setup& s, const PointRecord& record) {
  for (const Sample& sample : record.samples)
    if (sample.phase == Phase::decode && sample.n_tokens != s.point.batch) return false;
  const auto generated = record.values.find("n_generated");
  return generated != record.values.end() &&
         std::get<std::int64_t>(generated->second) == s.point.new_tokens;
}

/// \param decodes empty where there were none or not those that the costs are declared for
void put_costs(const Prediction& p, const Conditions& conditions,
               const std::vector<double>& prefills, const std::vector<double>& decodes,
               PointRecord& record) {
  record.values["prefill_declared_flops"] = p.prefill.flops;
  const auto rate = conditions.matmul_rate();
  if (rate && !prefills.empty())
    record.values["matmul_rate_fraction"] =
        static_cast<double>(p.prefill.flops) / measure::median(prefills) / *rate;
  if (decodes.empty()) return;
  const auto bytes = static_cast<double>(p.decode.bytes_read);
  record.values["declared_bytes_read"] = p.decode.bytes_read;
  record.values["declared_flops"] = p.decode.flops;
  const auto bandwidth = conditions.bandwidth_at(bytes);
  if (bandwidth)
    record.values["read_bandwidth_fraction"] = bytes / measure::median(decodes) / *bandwidth;
}

/// Of the layer that sees most; 0: everything.
std::int64_t widest_window(const CacheSpec& spec) {
  std::int64_t widest = 0;
  for (const std::int64_t window : spec.windows) {
    if (window == 0) return 0;
    widest = std::max(widest, window);
  }
  return widest;
}

}  // namespace

void describe(const Setup& s, PointRecord& record) {
  auto& values = record.values;
  values["effective_weight_element"] = std::string(name_of(s.element));
  values["effective_kv_heads"] = s.config.n_kv_heads;
  values["effective_n_layers"] = s.config.n_layers;
  values["effective_k_element"] = s.point.k_element;
  values["effective_v_element"] = s.point.v_element;
  values["effective_attention"] = s.point.attention;
  values["effective_window_tokens"] = widest_window(s.cache);
  if (s.generation.keeps_past) values["effective_prefill_chunk"] = s.generation.prefill_chunk;
  values["effective_backend"] = s.point.backend;
  values["n_heads"] = s.config.n_heads;
  values["n_kv_heads"] = s.config.n_kv_heads;
  values["head_dim"] = s.config.head_dim;
  values["hidden_dim"] = s.config.hidden_dim;
  values["effective_threads"] = effective_threads(s);
  visit_backend(s.backend, [&](auto tag) {
    using Exec = typename decltype(tag)::type;
    const std::int64_t prefill_rows = s.point.batch * s.generation.prefill_chunk;
    const std::int64_t decode_rows =
        s.generation.keeps_past ? s.point.batch : prefill_rows + s.point.batch;
    if (!s.synthetic_prefill())
      values["effective_prefill_matmul"] =
          std::string(ops::Matmul<Exec>::path(prefill_rows, s.element));
    values["effective_decode_matmul"] =
        std::string(ops::Matmul<Exec>::path(decode_rows, s.element));
  });
}

void summarize(const Setup& s, const Prediction& p, const Conditions& conditions,
               const std::vector<double>& generations, PointRecord& record) {
  const std::vector<double> prefills = steady_times(record, Phase::prefill);
  const std::vector<double> decodes = steady_times(record, Phase::decode);
  put_median(record, "ttft_s", prefills);
  put_median(record, "itl_s", decodes);
  put_median(record, "total_s", generations);
  put_median(record, "prefill_tokens_per_s", prefill_rates(record));
  put_median(record, "decode_tokens_per_s", decode_rates(record));
  put_costs(p, conditions, prefills, went_to_the_end(s, record) ? decodes : std::vector<double>{},
            record);
  record.values["n_samples"] =
      static_cast<std::int64_t>(decodes.empty() ? prefills.size() : decodes.size());
}

}  // namespace kvmeter::run

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/summarize.hpp"

#include <fmt/format.h>

#include "harness/exec/threads.hpp"
#include "harness/measure/statistics.hpp"

namespace kvmeter::run {
namespace {

std::vector<double> steady_times(const PointRecord& record, Phase phase) {
  std::vector<double> times;
  for (const Sample& sample : record.samples)
    if (sample.phase == phase && !sample.is_warmup) times.push_back(sample.time_s);
  return times;
}

/// `name` and its interval's ends.
void put_time(PointRecord& record, const std::string& name, const std::vector<double>& times) {
  if (times.empty()) return;
  record.values[name] = measure::median(times);
  if (const auto interval = measure::median_interval(times)) {
    record.values[name + "_ci_low"] = interval->low;
    record.values[name + "_ci_high"] = interval->high;
  }
}

/// Tokens per second of steps of n tokens; the slowest end of the time is the low end of the rate.
void put_rate(PointRecord& record, const std::string& name, std::int64_t n,
              const std::vector<double>& times) {
  if (times.empty()) return;
  const auto tokens = static_cast<double>(n);
  record.values[name] = tokens / measure::median(times);
  if (const auto interval = measure::median_interval(times)) {
    record.values[name + "_ci_low"] = tokens / interval->high;
    record.values[name + "_ci_high"] = tokens / interval->low;
  }
}

void put_costs(const Prediction& p, const Conditions& conditions,
               const std::vector<double>& prefills, const std::vector<double>& decodes,
               PointRecord& record) {
  record.values["prefill_declared_flops"] = p.prefill.flops;
  const auto rate = conditions.matmul_rate();
  if (rate && !prefills.empty())
    record.values["matmul_rate_fraction"] =
        static_cast<double>(p.prefill.flops) / measure::median(prefills) / *rate;
  if (p.decode_steps == 0) return;
  const auto bytes = static_cast<double>(p.decode.bytes_read);
  record.values["declared_bytes_read"] = p.decode.bytes_read;
  record.values["declared_flops"] = p.decode.flops;
  const auto bandwidth = conditions.bandwidth_at(bytes);
  if (bandwidth && !decodes.empty())
    record.values["read_bandwidth_fraction"] = bytes / measure::median(decodes) / *bandwidth;
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
  values["effective_backend"] = s.point.backend;
  values["n_heads"] = s.config.n_heads;
  values["n_kv_heads"] = s.config.n_kv_heads;
  values["head_dim"] = s.config.head_dim;
  values["hidden_dim"] = s.config.hidden_dim;
  visit_backend(s.backend, [&](auto tag) {
    using Exec = typename decltype(tag)::type;
    const std::int64_t prefill_rows = s.point.batch * s.point.prompt_tokens;
    const std::int64_t decode_rows =
        s.generation.keeps_past ? s.point.batch : prefill_rows + s.point.batch;
    values["effective_threads"] = std::int64_t{thread_count(make_exec<Exec>(s.point.threads))};
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
  put_time(record, "ttft_s", prefills);
  put_time(record, "itl_s", decodes);
  put_time(record, "total_s", generations);
  put_rate(record, "prefill_tokens_per_s", s.point.batch * s.point.prompt_tokens, prefills);
  put_rate(record, "decode_tokens_per_s", s.point.batch, decodes);
  put_costs(p, conditions, prefills, decodes, record);
  record.values["n_samples"] =
      static_cast<std::int64_t>(decodes.empty() ? prefills.size() : decodes.size());
}

}  // namespace kvmeter::run

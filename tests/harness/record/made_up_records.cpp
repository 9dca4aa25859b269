// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/harness/record/made_up_records.hpp"

#include <array>
#include <string>

#include "harness/record/journal.hpp"

namespace kvmeter::test {
namespace {

constexpr std::int64_t kLayers = 30, kKvHeads = 3, kHeadDim = 64;
constexpr std::int64_t kNewTokens = 192, kWarmup = 3;

/// A repeatable number in [0, 1) that looks like noise.
double noise(std::int64_t i) {
  return static_cast<double>((i * 7919 + 13) % 101) / 101.0;
}

double step_s(const Point& point, std::int64_t context_len) {
  const double context = static_cast<double>(context_len);
  if (point.cache == "none") return 11e-3 + 62e-6 * context;
  return 9e-3 + (point.k_element == "f32" ? 2.4e-6 : 1.3e-6) * context;
}

void add_samples(PointRecord& record) {
  const Point& point = record.point;
  const double prefill_s = 2e-3 + 55e-6 * static_cast<double>(point.prompt_tokens);
  record.samples.push_back(
      {0, 0, Phase::prefill, point.prompt_tokens, point.prompt_tokens, prefill_s, false});
  for (std::int32_t i = 1; i < point.new_tokens; ++i) {
    const std::int64_t context_len = point.prompt_tokens + i;
    const bool warm_up = i <= kWarmup;
    const double slow = 1 + 0.05 * noise(context_len) + (warm_up ? 0.4 : 0.0);
    record.samples.push_back({0, i, Phase::decode, context_len, point.batch,
                              step_s(point, context_len) * slow, warm_up});
  }
}

void add_times(PointRecord& record) {
  const Point& point = record.point;
  const auto with_interval = [&](const std::string& name, double value) {
    record.values[name] = value;
    record.values[name + "_ci_low"] = value * 0.98;
    record.values[name + "_ci_high"] = value * 1.03;
  };
  const double ttft_s = record.samples.front().time_s;
  const double itl_s = step_s(point, point.prompt_tokens + point.new_tokens / 2);
  with_interval("ttft_s", ttft_s);
  with_interval("itl_s", itl_s);
  with_interval("prefill_tokens_per_s", static_cast<double>(point.prompt_tokens) / ttft_s);
  with_interval("decode_tokens_per_s", 1 / itl_s);
  with_interval("total_s", ttft_s + itl_s * static_cast<double>(point.new_tokens - 1));
  record.values["read_bandwidth_fraction"] = 0.83;
  record.values["matmul_rate_fraction"] = 0.61;
}

void add_memory(PointRecord& record) {
  const Point& point = record.point;
  const std::int64_t element_bytes = point.k_element == "f32" ? 4 : 2;
  const std::int64_t tokens = point.prompt_tokens + point.new_tokens;
  const bool cached = point.cache != "none";
  const std::int64_t row_bytes = 2 * kLayers * kKvHeads * kHeadDim * element_bytes;
  record.values["cache_formula_bytes"] = cached ? row_bytes * tokens : std::int64_t{0};
  record.values["cache_live_bytes"] = cached ? row_bytes * (tokens - 1) : std::int64_t{0};
  record.values["cache_allocated_bytes"] =
      cached ? row_bytes * ((tokens + 63) / 64 * 64) : std::int64_t{0};
  record.values["cache_metadata_bytes"] = std::int64_t{cached ? 512 : 0};
  record.values["weights_bytes"] = std::int64_t{538060800};
  record.values["activations_bytes"] = std::int64_t{9437184} + 1000 * point.prompt_tokens;
  record.values["peak_rss_bytes"] = std::int64_t{700000000} + row_bytes * tokens;
}

void add_work(PointRecord& record) {
  const Point& point = record.point;
  const std::int64_t n = point.new_tokens;
  const std::int64_t per_layer = point.cache == "none" ? n * point.prompt_tokens + n * (n - 1) / 2
                                                       : point.prompt_tokens + n - 1;
  record.values["kv_projections"] = kLayers * per_layer;
  record.values["n_generated"] = n;
  record.values["declared_bytes_read"] = std::int64_t{269030400};
  record.values["declared_flops"] = std::int64_t{270000000};
  record.values["stop_reason"] = std::string("samples");
  record.values["n_samples"] = n - 1 - kWarmup;
  record.values["effective_backend"] = std::string("openmp");
  record.values["effective_threads"] = std::int64_t{2};
  record.values["effective_decode_matmul"] = std::string("stream_rows");
}

Point made_up_point(const std::string& cache, const std::string& element,
                    std::int64_t prompt_tokens) {
  Point point;
  point.model = "smollm2-135m";
  point.cache = cache;
  point.k_element = point.v_element = element;
  point.prompt_tokens = prompt_tokens;
  point.new_tokens = kNewTokens;
  return point;
}

PointRecord made_up_record(const Point& point, std::int64_t order) {
  PointRecord record;
  record.point = point;
  record.point_hash = point_hash(canonical(point), {});
  record.values = {{"order", order},
                   {"started_at", std::string("2024-01-01T00:00:00Z")},
                   {"n_heads", std::int64_t{9}},
                   {"n_kv_heads", kKvHeads},
                   {"head_dim", kHeadDim},
                   {"hidden_dim", std::int64_t{576}},
                   {"effective_n_layers", kLayers}};
  return record;
}

}  // namespace

std::vector<PointRecord> made_up_records() {
  std::vector<PointRecord> records;
  for (const std::string cache : {"none", "contiguous"})
    for (const std::string element : {"f32", "f16"})
      for (const std::int64_t prompt_tokens : {32, 512}) {
        const Point point = made_up_point(cache, element, prompt_tokens);
        PointRecord& record =
            records.emplace_back(made_up_record(point, static_cast<std::int64_t>(records.size())));
        add_samples(record);
        add_times(record);
        add_memory(record);
        add_work(record);
      }
  Point on_device = made_up_point("contiguous", "f16", 32);
  on_device.backend = "cuda";
  PointRecord& failed =
      records.emplace_back(made_up_record(on_device, static_cast<std::int64_t>(records.size())));
  failed.status = Status::unsupported;
  failed.message = "this program was built without CUDA";
  return records;
}

Attributes made_up_attributes() {
  return {{"title", std::string("made up")},
          {"sweep_text", std::string("name = \"made up\"\n[fixed]\nmodel = \"smollm2-135m\"\n")},
          {"seed", std::int64_t{1}},
          {"cpu", std::string("A Processor (R) 2.0 GHz")},
          {"host", std::string("example")},
          {"peak_read_bandwidth", 25.4e9}};
}

Vocabulary made_up_vocabulary() {
  const std::vector<std::string> codecs{"f32", "f16", "bf16"};
  return {{{"cache", {"none", "contiguous"}},
           {"k_element", codecs},
           {"v_element", codecs},
           {"attention", {"two_pass", "online"}}}};
}

}  // namespace kvmeter::test

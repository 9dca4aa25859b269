// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/peak.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "harness/core/units.hpp"
#include "harness/exec/threads.hpp"
#include "harness/run/commands.hpp"
#include "harness/run/models.hpp"

namespace kvmeter::run {
namespace {

using measure::MatmulRate;
using measure::MatmulShape;
using measure::Peak;
using nlohmann::ordered_json;

/// The peak of one back end, and what it was measured with.
struct Measured {
  Backend backend = Backend::openmp;
  int threads = 0;  // on the host
  std::vector<MatmulShape> shapes;
  std::vector<Element> elements;
  Peak peak;
};

Measured measure_backend(Backend backend, std::int64_t threads, std::vector<MatmulShape> shapes) {
  return visit_backend(backend, [&](auto tag) {
    using Exec = typename decltype(tag)::type;
    const Exec exec = make_exec<Exec>(threads);
    const std::vector<Element> elements{Element::f32, Element::bf16};
    return Measured{backend, thread_count(exec), shapes, elements,
                    measure::measure_peak(exec, measure::full_plan(shapes, elements))};
  });
}

std::string sizes(const MatmulShape& shape) {
  return fmt::format("{} x {} x {}", shape.rows, shape.in_dim, shape.out_dim);
}

void print_bandwidth(const Measured& measured) {
  fmt::print("Read bandwidth, {}, {} thread{}\n", name_of(measured.backend), measured.threads,
             measured.threads == 1 ? "" : "s");
  fmt::print("  {:>10}  {:<6}  {:<11}  {:>10}\n", "buffer", "pages", "pattern", "bandwidth");
  for (const measure::CurvePoint& point : measured.peak.curve)
    fmt::print("  {:>10}  {:<6}  {:<11}  {:>10}\n", format_bytes(point.bytes),
               measure::name_of(point.pages), measure::name_of(point.pattern),
               format_bandwidth(point.bytes_per_s));
}

void print_matmuls(const Measured& measured, const std::string& model) {
  if (measured.peak.matmuls.empty()) return;
  fmt::print("\nMatmul rate, {}, layers of {}\n", measure::matmul_library(), model);
  fmt::print("  {:<8}  {:<20}  {:<7}  {:<9}  {:>13}\n", "layer", "rows x in x out", "element",
             "weights", "rate");
  for (const MatmulRate& rate : measured.peak.matmuls)
    fmt::print("  {:<8}  {:<20}  {:<7}  {:<9}  {:>13}\n", rate.shape.name, sizes(rate.shape),
               name_of(rate.element), rate.layout, format_flop_rate(rate.flops_per_s));
}

void print_summary(const Measured& measured) {
  fmt::print("\n");
  if (const auto bandwidth = measure::read_bandwidth(measured.peak))
    fmt::print("{:<32}{:>13}\n",
               fmt::format("read bandwidth, {}", format_bytes(measured.peak.curve.back().bytes)),
               format_bandwidth(*bandwidth));
  for (const Element element : measured.elements)
    if (const auto rate = measure::matmul_rate(measured.peak, element, measured.shapes))
      fmt::print("{:<32}{:>13}\n", fmt::format("matmul rate, {}", name_of(element)),
                 format_flop_rate(*rate));
}

ordered_json to_json(const Measured& measured) {
  ordered_json json{{"backend", name_of(measured.backend)}, {"threads", measured.threads}};
  if (const auto bandwidth = measure::read_bandwidth(measured.peak))
    json["read_bandwidth_bytes_per_s"] = *bandwidth;
  for (const Element element : measured.elements)
    if (const auto rate = measure::matmul_rate(measured.peak, element, measured.shapes))
      json["matmul_flops_per_s"][name_of(element)] = *rate;
  json["bandwidth_curve"] = ordered_json::array();
  for (const measure::CurvePoint& point : measured.peak.curve)
    json["bandwidth_curve"].push_back({{"bytes", point.bytes},
                                       {"bytes_per_s", point.bytes_per_s},
                                       {"pages", measure::name_of(point.pages)},
                                       {"pattern", measure::name_of(point.pattern)}});
  json["matmuls"] = ordered_json::array();
  for (const MatmulRate& rate : measured.peak.matmuls)
    json["matmuls"].push_back({{"layer", rate.shape.name},
                               {"rows", rate.shape.rows},
                               {"in_dim", rate.shape.in_dim},
                               {"out_dim", rate.shape.out_dim},
                               {"element", name_of(rate.element)},
                               {"layout", rate.layout},
                               {"flops_per_s", rate.flops_per_s}});
  return json;
}

/// The parallel back ends of this build.
std::vector<Backend> measured_backends() {
  std::vector<Backend> backends{Backend::openmp};
  if (has_cuda) backends.push_back(Backend::cuda);
  return backends;
}

}  // namespace

std::vector<MatmulShape> matmul_shapes(const ModelConfig& config, std::int64_t rows) {
  const bool gated = config.activation == Activation::swiglu;
  const std::int64_t n = config.n_layers;
  return {{"qkv", rows, config.hidden_dim, config.q_dim() + 2 * config.kv_dim(), n},
          {"out", rows, config.q_dim(), config.hidden_dim, n},
          {gated ? "gate+up" : "up", rows, config.hidden_dim, (gated ? 2 : 1) * config.ffn_dim, n},
          {"down", rows, config.ffn_dim, config.hidden_dim, n}};
}

Attributes peak_attributes(const Peak& peak, std::optional<double> matmul_rate) {
  Attributes all;
  if (const auto bandwidth = measure::read_bandwidth(peak)) all["peak_read_bandwidth"] = *bandwidth;
  if (matmul_rate) all["peak_matmul_rate"] = *matmul_rate;
  std::string curve;
  for (const measure::CurvePoint& point : peak.curve)
    curve += fmt::format("{} {:.6g}\n", point.bytes, point.bytes_per_s);
  std::string matmuls;
  for (const MatmulRate& rate : peak.matmuls)
    matmuls += fmt::format("{}, {} {}, {:.6g}\n", sizes(rate.shape), name_of(rate.element),
                           rate.layout, rate.flops_per_s);
  if (!curve.empty()) all["peak_read_bandwidth_curve"] = curve;
  if (!matmuls.empty()) all["peak_matmul_curve"] = matmuls;
  return all;
}

int peak(const PeakOptions& options) {
  const ModelConfig config = read_model_config(find_model(options.model, Weights::random).config);
  ordered_json json{{"model", options.model}, {"backends", ordered_json::array()}};
  for (const Backend backend : measured_backends()) {
    const Measured measured = measure_backend(backend, options.threads, matmul_shapes(config));
    if (options.json) {
      json["backends"].push_back(to_json(measured));
      continue;
    }
    print_bandwidth(measured);
    print_matmuls(measured, options.model);
    print_summary(measured);
  }
  if (options.json) fmt::print("{}\n", json.dump(2));
  return 0;
}

}  // namespace kvmeter::run

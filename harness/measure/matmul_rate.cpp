// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// measure_matmuls, by oneDNN: the fastest matrix product on the host that kvmeter knows.
#include <dnnl.hpp>

#include <vector>

#include "harness/core/error.hpp"
#include "harness/measure/clock.hpp"
#include "harness/measure/matmul_rate.hpp"
#include "harness/measure/statistics.hpp"

namespace kvmeter::measure {
namespace {

using DataType = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;

DataType data_type(Element element) {
  if (element == Element::bf16) return DataType::bf16;
  return element == Element::f16 ? DataType::f16 : DataType::f32;
}

/// Small values of both signs in this layout: zeros and denormals could be faster or slower than
/// weights are.
dnnl::memory filled(const dnnl::memory::desc& layout, Tag plain, const dnnl::engine& engine,
                    dnnl::stream& stream) {
  dnnl::memory values({layout.dims(), DataType::f32, plain}, engine);
  auto* data = static_cast<float*>(values.get_data_handle());
  const std::size_t n = values.get_desc().get_size() / sizeof(float);
  for (std::size_t i = 0; i < n; ++i)
    data[i] = static_cast<float>(i * 2654435761U % 1024U) / 1024.0F - 0.5F;
  dnnl::memory result(layout, engine);
  dnnl::reorder(values, result).execute(stream, values, result);
  stream.wait();
  return result;
}

/// One linear layer, ready to run: sources and weights of the element, float results, as the
/// decoder has them.
class LinearLayer {
 public:
  LinearLayer(const MatmulShape& shape, Element element, bool blocked)
      : m_engine(dnnl::engine::kind::cpu, 0), m_stream(m_engine) {
    const DataType type = data_type(element);
    const dnnl::memory::desc source({shape.rows, shape.in_dim}, type, Tag::ab);
    const dnnl::memory::desc row_major({shape.in_dim, shape.out_dim}, type, Tag::ba);
    const dnnl::memory::desc any({shape.in_dim, shape.out_dim}, type, Tag::any);
    const dnnl::memory::desc result({shape.rows, shape.out_dim}, DataType::f32, Tag::ab);
    const dnnl::matmul::primitive_desc primitive(
        dnnl::matmul::desc(source, blocked ? any : row_major, result), m_engine);
    m_matmul = dnnl::matmul(primitive);
    m_source = filled(source, Tag::ab, m_engine, m_stream);
    m_weights = filled(primitive.weights_desc(), Tag::ba, m_engine, m_stream);
    m_result = dnnl::memory(result, m_engine);
  }

  void run() {
    m_matmul.execute(
        m_stream,
        {{DNNL_ARG_SRC, m_source}, {DNNL_ARG_WEIGHTS, m_weights}, {DNNL_ARG_DST, m_result}});
    m_stream.wait();
  }

 private:
  dnnl::engine m_engine;
  dnnl::stream m_stream;
  dnnl::matmul m_matmul;
  dnnl::memory m_source;   // [rows, in_dim]
  dnnl::memory m_weights;  // [in_dim, out_dim] in some layout
  dnnl::memory m_result;   // [rows, out_dim]
};

/// Median rate of some passes, less of them when time is short, but one at least after a warm-up.
MatmulRate measure(const MatmulShape& shape, Element element, bool blocked, int passes,
                   double seconds) {
  LinearLayer layer(shape, element, blocked);
  const Stopwatch all;
  layer.run();
  std::vector<double> rates;
  do {
    const Stopwatch watch;
    layer.run();
    rates.push_back(shape.flops() / watch.seconds());
  } while (static_cast<int>(rates.size()) < passes && all.seconds() < seconds);
  return {shape, element, blocked ? "blocked" : "row-major", median(rates)};
}

/// Passes of one element cost about this much of another's: shares out the time.
double weight(Element element) {
  return element == Element::f32 ? 3 : 1;
}

}  // namespace

std::vector<MatmulRate> measure_matmuls(const MatmulPlan& plan) {
  double all = 0;
  for (const Element element : plan.elements)
    for (const MatmulShape& shape : plan.shapes) all += weight(element) * shape.flops();
  const int n_layouts = plan.every_layout ? 2 : 1;
  std::vector<MatmulRate> rates;
  for (const Element element : plan.elements) {
    for (const MatmulShape& shape : plan.shapes) {
      const double share = weight(element) * shape.flops() / all / n_layouts;
      try {
        for (int layout = 0; layout < n_layouts; ++layout)
          rates.push_back(measure(shape, element, layout == 0, plan.passes, share * plan.seconds));
      } catch (const dnnl::error& error) {
        if (error.status != dnnl_unimplemented) fail("peak: oneDNN: {}", error.what());
      }
    }
  }
  return rates;
}

std::string matmul_library() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("oneDNN {}.{}.{}", version->major, version->minor, version->patch);
}

}  // namespace kvmeter::measure

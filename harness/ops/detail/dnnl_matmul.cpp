// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/ops/detail/dnnl_matmul.hpp"

#include <dnnl.hpp>
#include <map>

#include "harness/core/error.hpp"

namespace kvmeter::ops::detail {
namespace {

using Type = dnnl::memory::data_type;
using Dims = dnnl::memory::dims;

struct Primitive {
  dnnl::matmul matmul;
  dnnl::memory x, w, bias, out;
};

dnnl::memory::desc describe(std::int64_t rows, std::int64_t columns, Type type,
                            const Dims& strides) {
  return {Dims{rows, columns}, type, strides};
}

Primitive make_primitive(const dnnl::engine& engine, const DnnlProduct& p) {
  const Type type = p.element == Element::bf16 ? Type::bf16 : Type::f32;
  const auto x = describe(p.n_rows, p.in_dim, type, {p.in_dim, 1});
  const auto w =
      describe(p.in_dim, p.out_dim, type, {1, p.in_dim});  // [out, in] seen as its transpose
  const auto out = describe(p.n_rows, p.out_dim, Type::f32, {p.out_stride, 1});
  const auto bias = describe(1, p.out_dim, Type::f32, {p.out_dim, 1});
  dnnl::primitive_attr attributes;
  if (p.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum();
    attributes.set_post_ops(sum);
  }
  const dnnl::matmul::desc description =
      p.has_bias ? dnnl::matmul::desc(x, w, bias, out) : dnnl::matmul::desc(x, w, out);
  const dnnl::matmul::primitive_desc primitive(description, attributes, engine);
  return {dnnl::matmul(primitive), dnnl::memory(x, engine, nullptr),
          dnnl::memory(w, engine, nullptr), dnnl::memory(bias, engine, nullptr),
          dnnl::memory(out, engine, nullptr)};
}

bool made_by_amd() {
#if defined(__x86_64__)
  return __builtin_cpu_is("amd") != 0;
#else
  return false;
#endif
}

}  // namespace

bool fast_bf16() {
  static const bool fast = [] {
    const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
    if (isa == dnnl::cpu_isa::avx512_core_bf16) return made_by_amd();
    return isa == dnnl::cpu_isa::avx512_core_amx;
  }();
  return fast;
}

struct DnnlMatmul::State {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::map<DnnlProduct, Primitive> primitives;
};

DnnlMatmul::DnnlMatmul() : m_state(std::make_unique<State>()) {}
DnnlMatmul::~DnnlMatmul() = default;

void DnnlMatmul::run(const DnnlProduct& product, const void* x, const void* w, const float* bias,
                     float* out) try {
  auto found = m_state->primitives.find(product);
  if (found == m_state->primitives.end())
    found = m_state->primitives.emplace(product, make_primitive(m_state->engine, product)).first;
  Primitive& p = found->second;
  p.x.set_data_handle(const_cast<void*>(x));  // oneDNN's handles are not const; it only reads them
  p.w.set_data_handle(const_cast<void*>(w));
  p.out.set_data_handle(out);
  std::unordered_map<int, dnnl::memory> arguments{
      {DNNL_ARG_SRC, p.x}, {DNNL_ARG_WEIGHTS, p.w}, {DNNL_ARG_DST, p.out}};
  if (product.has_bias) {
    p.bias.set_data_handle(const_cast<float*>(bias));
    arguments.emplace(DNNL_ARG_BIAS, p.bias);
  }
  p.matmul.execute(m_state->stream, arguments);
  m_state->stream.wait();
} catch (const dnnl::error& error) {
  fail("oneDNN matmul of [{}, {}] x [{}, {}] {}: {}", product.n_rows, product.in_dim,
       product.in_dim, product.out_dim, name_of(product.element), error.what());
}

}  // namespace kvmeter::ops::detail

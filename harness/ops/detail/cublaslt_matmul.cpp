// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/ops/detail/cublaslt_matmul.hpp"

#include <cublasLt.h>

#include <map>

#include "harness/core/error.hpp"

namespace kvmeter::ops::detail {
namespace {

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    fail("cuBLASLt {}: {}", what, cublasLtGetStatusString(status));
}

cudaDataType_t type_of(Element element) {
  switch (element) {
    case Element::f16:
      return CUDA_R_16F;
    case Element::bf16:
      return CUDA_R_16BF;
    case Element::f32:
      break;
  }
  return CUDA_R_32F;
}

/// Descriptors and the chosen algorithm of one product. cuBLASLt is column-major, so row-major out
/// [n_rows, out_dim] is its transpose: out^T = w x^T, with w's memory read as [in_dim, out_dim] and
/// transposed.
struct Prepared {
  cublasLtMatmulDesc_t operation{};
  cublasLtMatrixLayout_t w{}, x{}, out{};
  cublasLtMatmulAlgo_t algorithm{};
};

template <class T>
void set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  check(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value), "descriptor");
}

void choose_algorithm(cublasLtHandle_t handle, Prepared& p) {
  cublasLtMatmulPreference_t preference{};
  check(cublasLtMatmulPreferenceCreate(&preference), "preference");
  const auto most = static_cast<std::size_t>(CublasLtMatmul::workspace_bytes());
  cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most,
                                       sizeof most);
  cublasLtMatmulHeuristicResult_t result{};
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handle, p.operation, p.w, p.x, p.out, p.out, preference, 1, &result, &found);
  cublasLtMatmulPreferenceDestroy(preference);
  check(found > 0 ? status : CUBLAS_STATUS_NOT_SUPPORTED, "has no algorithm");
  p.algorithm = result.algo;
}

Prepared prepare(cublasLtHandle_t handle, const CublasProduct& product) {
  Prepared p;
  check(cublasLtMatmulDescCreate(&p.operation, CUBLAS_COMPUTE_32F, CUDA_R_32F), "descriptor");
  set(p.operation, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  if (product.has_bias) {
    set(p.operation, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(p.operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CUDA_R_32F);
  }
  const cudaDataType_t type = type_of(product.element);
  const auto in = static_cast<std::uint64_t>(product.in_dim);
  const auto out = static_cast<std::uint64_t>(product.out_dim);
  const auto rows = static_cast<std::uint64_t>(product.n_rows);
  check(cublasLtMatrixLayoutCreate(&p.w, type, in, out, product.in_dim), "layout");
  check(cublasLtMatrixLayoutCreate(&p.x, type, in, rows, product.in_dim), "layout");
  check(cublasLtMatrixLayoutCreate(&p.out, CUDA_R_32F, out, rows, product.out_dim), "layout");
  choose_algorithm(handle, p);
  return p;
}

}  // namespace

struct CublasLtMatmul::State {
  cublasLtHandle_t handle{};
  std::map<CublasProduct, Prepared> prepared;

  State() { check(cublasLtCreate(&handle), "create"); }
  ~State() {
    for (auto& [product, p] : prepared) {
      cublasLtMatrixLayoutDestroy(p.w);
      cublasLtMatrixLayoutDestroy(p.x);
      cublasLtMatrixLayoutDestroy(p.out);
      cublasLtMatmulDescDestroy(p.operation);
    }
    cublasLtDestroy(handle);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

CublasLtMatmul::CublasLtMatmul() : m_state(std::make_unique<State>()) {}
CublasLtMatmul::~CublasLtMatmul() = default;

void CublasLtMatmul::run(const CublasProduct& product, const void* x, const void* w,
                         const float* bias, float* out, void* workspace, void* stream) {
  auto found = m_state->prepared.find(product);
  if (found == m_state->prepared.end())
    found = m_state->prepared.emplace(product, prepare(m_state->handle, product)).first;
  const Prepared& p = found->second;
  if (product.has_bias) set(p.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  const float one = 1;
  const float beta = product.accumulate ? 1.0F : 0.0F;
  check(cublasLtMatmul(m_state->handle, p.operation, &one, w, p.w, x, p.x, &beta, out, p.out, out,
                       p.out, &p.algorithm, workspace, static_cast<std::size_t>(workspace_bytes()),
                       static_cast<cudaStream_t>(stream)),
        "matmul");
}

}  // namespace kvmeter::ops::detail

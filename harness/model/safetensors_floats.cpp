// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/safetensors_floats.hpp"

#include "harness/exec/half.hpp"
#include "harness/model/detail/load_float.hpp"

namespace kvmeter {
namespace {

template <class T>
std::vector<float> widen(const FileTensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.count()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = detail::load_float<T>(tensor.data.data(), i);
  return values;
}

}  // namespace

std::vector<float> read_floats(const FileTensor& tensor) {
  if (tensor.type == TensorType::F32) return widen<float>(tensor);
  if (tensor.type == TensorType::F16) return widen<F16>(tensor);
  if (tensor.type == TensorType::BF16) return widen<BF16>(tensor);
  refuse_type(tensor, "F32, F16, BF16");
}

}  // namespace kvmeter

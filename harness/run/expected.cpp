// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/expected.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "harness/core/error.hpp"
#include "harness/core/names.hpp"
#include "harness/model/safetensors_floats.hpp"

namespace kvmeter::run {
namespace {

using TokenRows = std::vector<std::vector<std::int32_t>>;

constexpr std::array<std::string_view, 5> tensor_names{"input_ids", "generated", "logits",
                                                       "step_logits", "nll"};

/// An integer tensor [rows, columns].
TokenRows read_rows(const FileTensor& tensor) {
  KVMETER_EXPECTS(tensor.shape.size() == 2, "{}: tensor {} has shape {}; expected [batch, tokens]",
                  tensor.file, tensor.name, shape_text(tensor.shape));
  const std::vector<std::int64_t> ids = read_ints(tensor);
  using Id = std::numeric_limits<std::int32_t>;
  for (const std::int64_t id : ids)  // what does not fit; the vocabulary is looked at later
    KVMETER_EXPECTS(id >= Id::min() && id <= Id::max(),
                    "{}: tensor {} has the token {}; allowed: 0 to 2147483647", tensor.file,
                    tensor.name, id);
  TokenRows rows;
  const auto columns = static_cast<std::size_t>(tensor.shape[1]);
  for (std::size_t i = 0; i < static_cast<std::size_t>(tensor.shape[0]); ++i)
    rows.emplace_back(ids.begin() + static_cast<std::ptrdiff_t>(i * columns),
                      ids.begin() + static_cast<std::ptrdiff_t>((i + 1) * columns));
  return rows;
}

void expect_shape(const FileTensor& tensor, const std::vector<std::int64_t>& shape) {
  KVMETER_EXPECTS(tensor.shape == shape, "{}: tensor {} has shape {}; expected {}", tensor.file,
                  tensor.name, shape_text(tensor.shape), shape_text(shape));
}

/// Infinities would make every bound infinite.
std::vector<float> read_finite(const FileTensor& tensor) {
  std::vector<float> values = read_floats(tensor);
  for (const float value : values)
    KVMETER_EXPECTS(std::isfinite(value), "{}: tensor {} holds {}; expected finite numbers",
                    tensor.file, tensor.name, value);
  return values;
}

/// A float tensor [batch, steps, vocab]; the vocabulary is taken from the first that is read.
std::vector<float> read_logits(const FileTensor& tensor, Expected& e, std::int64_t steps) {
  if (e.vocab_size == 0 && !tensor.shape.empty()) e.vocab_size = tensor.shape.back();
  expect_shape(tensor, {e.batch, steps, e.vocab_size});
  return read_finite(tensor);
}

void check_names(const SafetensorsFile& tensors, const std::string& file) {
  for (const auto& [name, tensor] : tensors.tensors())
    KVMETER_EXPECTS(std::ranges::find(tensor_names, name) != tensor_names.end(), "{}: {}", file,
                    unknown_name("tensor", name, tensor_names));
}

}  // namespace

Expected read_expected(const std::filesystem::path& file) {
  const SafetensorsFile tensors = SafetensorsFile::open(file);
  Expected e;
  e.file = file.string();
  check_names(tensors, e.file);
  const FileTensor& input_ids = tensors.at("input_ids");
  e.input_ids = read_rows(input_ids);
  e.batch = input_ids.shape[0];
  e.prompt_tokens = input_ids.shape[1];
  KVMETER_EXPECTS(e.batch > 0 && e.prompt_tokens > 0, "{}: tensor input_ids is empty",
                  file.string());
  if (const FileTensor* generated = tensors.find("generated")) {
    e.generated = read_rows(*generated);
    e.new_tokens = generated->shape[1];
    expect_shape(*generated, {e.batch, e.new_tokens});
  }
  if (const FileTensor* logits = tensors.find("logits"))
    e.logits = read_logits(*logits, e, e.prompt_tokens);
  if (const FileTensor* steps = tensors.find("step_logits")) {
    KVMETER_EXPECTS(e.new_tokens > 0, "{}: step_logits without generated", file.string());
    e.step_logits = read_logits(*steps, e, e.new_tokens);
  }
  if (const FileTensor* nll = tensors.find("nll")) {
    expect_shape(*nll, {e.batch, e.prompt_tokens - 1});
    e.nll = read_finite(*nll);
  }
  KVMETER_EXPECTS(!e.logits.empty() || !e.nll.empty() || e.new_tokens > 0,
                  "{}: nothing to compare with; allowed: logits, nll, generated, step_logits",
                  file.string());
  return e;
}

}  // namespace kvmeter::run

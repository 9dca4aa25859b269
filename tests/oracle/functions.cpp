// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/functions.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

namespace kvmeter::oracle {
namespace {

void require_size(std::span<const double> values, std::size_t size, const char* what) {
  if (values.size() != size) throw std::invalid_argument(std::string("oracle: size of ") + what);
}

}  // namespace

Vector rms_norm(std::span<const double> x, std::span<const double> scale, double epsilon) {
  require_size(scale, x.size(), "norm scale");
  double squares = 0;
  for (const double value : x) squares += value * value;
  const double root = std::sqrt(squares / static_cast<double>(x.size()) + epsilon);
  Vector y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] / root * scale[i];
  return y;
}

Vector layer_norm(std::span<const double> x, std::span<const double> scale,
                  std::span<const double> shift, double epsilon) {
  require_size(scale, x.size(), "norm scale");
  require_size(shift, x.size(), "norm shift");
  const auto n = static_cast<double>(x.size());
  double mean = 0;
  for (const double value : x) mean += value / n;
  double variance = 0;
  for (const double value : x) variance += (value - mean) * (value - mean) / n;
  Vector y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    y[i] = (x[i] - mean) / std::sqrt(variance + epsilon) * scale[i] + shift[i];
  return y;
}

Vector linear(const Matrix& weight, std::span<const double> x, std::span<const double> bias) {
  require_size(x, static_cast<std::size_t>(weight.cols), "linear input");
  if (!bias.empty()) require_size(bias, static_cast<std::size_t>(weight.rows), "bias");
  Vector y(static_cast<std::size_t>(weight.rows));
  for (std::int64_t o = 0; o < weight.rows; ++o) {
    const auto row = weight.row(o);
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += row[i] * x[i];
    const auto at = static_cast<std::size_t>(o);
    y[at] = bias.empty() ? sum : sum + bias[at];
  }
  return y;
}

Vector softmax(std::span<const double> x) {
  Vector w(x.begin(), x.end());
  if (w.empty()) return w;
  const double largest = *std::max_element(w.begin(), w.end());
  double sum = 0;
  for (double& value : w) sum += value = std::exp(value - largest);
  for (double& value : w) value /= sum;
  return w;
}

double silu(double x) {
  return x / (1 + std::exp(-x));
}

double gelu_new(double x) {
  const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}

std::int64_t argmax(std::span<const double> x) {
  return std::max_element(x.begin(), x.end()) - x.begin();
}

double negative_log_likelihood(std::span<const double> x, std::int64_t index) {
  const double largest = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (const double value : x) sum += std::exp(value - largest);
  return std::log(sum) + largest - x[static_cast<std::size_t>(index)];
}

}  // namespace kvmeter::oracle

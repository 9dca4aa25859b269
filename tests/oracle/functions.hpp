// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The functions of one token that a transformer is made of, in double precision and straight loops.
#pragma once

#include <span>

#include "tests/oracle/tensor.hpp"

namespace kvmeter::oracle {

/// y[i] = x[i] / sqrt(mean(x^2) + epsilon) * scale[i]
Vector rms_norm(std::span<const double> x, std::span<const double> scale, double epsilon);

/// y[i] = (x[i] - mean(x)) / sqrt(variance(x) + epsilon) * scale[i] + shift[i]
Vector layer_norm(std::span<const double> x, std::span<const double> scale,
                  std::span<const double> shift, double epsilon);

/// y[o] = sum over i of weight[o, i] * x[i], + bias[o] unless bias is empty
Vector linear(const Matrix& weight, std::span<const double> x, std::span<const double> bias);

/// w[i] = exp(x[i]) / sum of exp(x)
Vector softmax(std::span<const double> x);

/// x / (1 + exp(-x))
double silu(double x);

/// The tanh form of GELU that GPT-2 calls "gelu_new".
double gelu_new(double x);

/// The first index of the largest value.
std::int64_t argmax(std::span<const double> x);

/// -log softmax(x)[index], in nats
double negative_log_likelihood(std::span<const double> x, std::int64_t index);

}  // namespace kvmeter::oracle

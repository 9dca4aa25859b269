// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Arrays of doubles, as plain as they can be: the data types of the oracle.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace kvmeter::oracle {

using Vector = std::vector<double>;

struct Tensor {
  std::vector<std::int64_t> shape;
  Vector data;  // row-major
};

using Tensors = std::map<std::string, Tensor>;

/// A row-major matrix [rows, cols].
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  Vector data;

  Matrix() = default;
  Matrix(std::int64_t n_rows, std::int64_t n_cols)
      : rows(n_rows), cols(n_cols), data(static_cast<std::size_t>(n_rows * n_cols)) {}
  Matrix(std::int64_t n_rows, std::int64_t n_cols, Vector values)
      : rows(n_rows), cols(n_cols), data(std::move(values)) {}

  double& operator()(std::int64_t i, std::int64_t j) {
    return data[static_cast<std::size_t>(i * cols + j)];
  }
  double operator()(std::int64_t i, std::int64_t j) const {
    return data[static_cast<std::size_t>(i * cols + j)];
  }
  std::span<double> row(std::int64_t i) { return part(i, 0, cols); }
  std::span<const double> row(std::int64_t i) const { return part(i, 0, cols); }

  /// `count` elements of row i from column `first` on: one head of a token, for example.
  std::span<double> part(std::int64_t i, std::int64_t first, std::int64_t count) {
    return std::span(data).subspan(static_cast<std::size_t>(i * cols + first),
                                   static_cast<std::size_t>(count));
  }
  std::span<const double> part(std::int64_t i, std::int64_t first, std::int64_t count) const {
    return std::span(data).subspan(static_cast<std::size_t>(i * cols + first),
                                   static_cast<std::size_t>(count));
  }

  void append_row(std::span<const double> values) {
    data.insert(data.end(), values.begin(), values.end());
    cols = static_cast<std::int64_t>(values.size());
    ++rows;
  }
};

}  // namespace kvmeter::oracle

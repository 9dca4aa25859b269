// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Decoder-only inference in double precision, one thread, straight loops, with no arithmetic in
// common with harness/. What kvmeter computes is held against this.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "harness/model/config.hpp"
#include "tests/oracle/rounding.hpp"
#include "tests/oracle/tensor.hpp"
#include "tests/oracle/weights.hpp"

namespace kvmeter::oracle {

/// K and V of one sequence. Rows are rounded when they are written, and every query, that of the
/// same token included, reads the rounded values.
struct Cache {
  struct Layer {
    Matrix k, v;  // [tokens, n_kv_heads * head_dim]
  };
  std::vector<Layer> layers;
  std::int64_t length = 0;  // tokens
  Rounding round_k, round_v;
};

class Model {
 public:
  Model(ModelConfig config, Weights weights);

  /// Config and weights of a checkpoint folder.
  static Model load(const std::filesystem::path& folder);

  /// An empty cache with elements as rounding_of knows them.
  [[nodiscard]] Cache make_cache(std::string_view k_element = "none",
                                 std::string_view v_element = "none") const;

  /// Appends tokens to the sequence in the cache: the whole prompt is a prefill, one id a decode
  /// step. \return their logits [ids, vocab]
  Matrix advance(Cache& cache, std::span<const std::int64_t> ids) const;

  /// Logits of all positions of a sequence, with an exact cache. \return [ids, vocab]
  [[nodiscard]] Matrix logits(std::span<const std::int64_t> ids) const;

  [[nodiscard]] const ModelConfig& config() const { return config_; }

 private:
  [[nodiscard]] Matrix embed(std::span<const std::int64_t> ids, std::int64_t first) const;
  [[nodiscard]] Vector norm(std::span<const double> x, const NormWeights& w) const;
  void place_heads(std::span<double> heads, const Vector& scale, std::int64_t position) const;
  void attention_block(Matrix& x, Cache& cache, std::size_t layer) const;
  void mlp_block(Matrix& x, const LayerWeights& w) const;

  ModelConfig config_;
  Weights weights_;
  Vector frequencies_;
};

}  // namespace kvmeter::oracle

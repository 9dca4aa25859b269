// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// A model of one layer and two dimensions, whose logits can be worked out by hand.
#include "tests/oracle/model.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cmath>

#include "tests/oracle/functions.hpp"
#include "tests/support/all_close.hpp"
#include "tests/support/reference_cases.hpp"

namespace kvmeter::oracle {
namespace {

using test::AllClose;
using Ids = std::vector<std::int64_t>;

ModelConfig small_config() {
  ModelConfig config;
  config.n_layers = config.n_heads = config.n_kv_heads = 1;
  config.head_dim = config.hidden_dim = config.ffn_dim = 2;
  config.vocab_size = 2;
  config.norm_epsilon = 0;
  config.windows = {0};
  return config;
}

/// Rows of the embedding have mean square 1, so that the norms leave them as they are; every other
/// matrix is zero but the head, which is the identity: logits are the normed embedding.
Weights small_weights() {
  const Matrix zero(2, 2);
  const NormWeights keep{{1, 1}, {}};
  Weights w;
  w.embedding = Matrix(2, 2, {1, 1, std::sqrt(2.0), 0});
  w.layers.push_back({keep,
                      keep,
                      {zero, {}},
                      {zero, {}},
                      {zero, {}},
                      {zero, {}},
                      {},
                      {},
                      {zero, {}},
                      {zero, {}},
                      {zero, {}}});
  w.final_norm = keep;
  w.head = Matrix(2, 2, {1, 0, 0, 1});
  return w;
}
const Matrix identity(2, 2, {1, 0, 0, 1});

TEST_CASE("Model: with zero weights, logits are the normed embedding") {
  const Model model(small_config(), small_weights());
  CHECK_THAT(model.logits(Ids{1, 0}).data, AllClose(Vector{std::sqrt(2.0), 0, 1, 1}, 1e-15));
}

TEST_CASE("Model: attention adds the mean of the values seen") {
  Weights weights = small_weights();
  weights.layers[0].v.weight = identity;
  weights.layers[0].out.weight = identity;
  const Model model(small_config(), weights);
  // Scores are 0. Token 0: (r, 0) + (r, 0), normed again (r, 0), r = sqrt 2. Token 1: (1, 1) + mean
  // of (r, 0) and (1, 1) = ((3 + r) / 2, 3 / 2), divided by its root mean square.
  const double r = std::sqrt(2.0);
  const double x = (3 + r) / 2;
  const double y = 1.5;
  const double root = std::sqrt((x * x + y * y) / 2);
  CHECK_THAT(model.logits(Ids{1, 0}).data, AllClose(Vector{r, 0, x / root, y / root}, 1e-14));
}

TEST_CASE("Model: the MLP multiplies up by silu(gate)") {
  Weights weights = small_weights();
  weights.layers[0].gate.weight = identity;
  weights.layers[0].up.weight = Matrix(2, 2, {2, 0, 0, 4});
  weights.layers[0].down.weight = identity;
  const Model model(small_config(), weights);
  // Embedding (1, 1): silu(1) times 2 and 4 is added.
  const double x = 1 + 2 * silu(1);
  const double y = 1 + 4 * silu(1);
  const double root = std::sqrt((x * x + y * y) / 2);
  CHECK_THAT(model.logits(Ids{0}).data, AllClose(Vector{x / root, y / root}, 1e-14));
}

TEST_CASE("Model: the cache's rounding reaches K and V apart") {
  Weights weights = small_weights();
  weights.layers[0].v.weight = Matrix(2, 2, {1 + 0x1p-9, 0, 0, 1});
  weights.layers[0].out.weight = identity;
  const Model model(small_config(), weights);
  const auto logits = [&](std::string_view k, std::string_view v) {
    Cache cache = model.make_cache(k, v);
    return model.advance(cache, Ids{0}).data;
  };
  CHECK(logits("none", "none") == logits("bf16", "none"));
  CHECK(logits("none", "none") == logits("bf16", "f16"));   // 1 + 2^-9 is an f16
  CHECK(logits("none", "none") != logits("none", "bf16"));  // but not a bf16
  CHECK_THAT(logits("none", "bf16"), AllClose(Vector{1, 1}, 1e-15));
}

TEST_CASE("Prefill and decode agree to 1e-10 with every rounding of the cache") {
  const auto reference = GENERATE(from_range(test::reference_cases()));
  const auto element =
      GENERATE("none", "f32", "f16", "bf16", "fp8_e4m3", "int8", "int4", "int8_row");
  if (!reference.name.starts_with("fixtures/")) return;  // these do; the others are larger
  CAPTURE(reference, element);
  const Model model = Model::load(reference.folder);
  const auto expected = test::read_expected(reference.folder);
  const auto ids = expected.prompt_of(0);

  Cache at_once = model.make_cache(element, element);
  const Matrix prefill = model.advance(at_once, ids);
  Cache stepwise = model.make_cache(element, element);
  Matrix steps = model.advance(stepwise, ids.first(3));
  for (std::size_t i = 3; i < ids.size(); ++i) {
    const Matrix step = model.advance(stepwise, ids.subspan(i, 1));
    steps.append_row(step.row(0));
  }
  CHECK_THAT(steps.data, AllClose(prefill.data, 1e-10, {steps.rows, steps.cols}));
  CHECK(stepwise.length == at_once.length);
}

}  // namespace
}  // namespace kvmeter::oracle

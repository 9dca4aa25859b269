// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Models of any shape and mixture of features against the oracle with the same weights. The
// tolerance is that of test_decoder.cpp.
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "tests/harness/model/decoder_run.hpp"
#include "tests/harness/model/oracle_weights.hpp"
#include "tests/oracle/model.hpp"
#include "tests/support/all_close.hpp"
#include "tests/support/random.hpp"

namespace kvmeter::test {
namespace {

/// Any mixture of features, in shapes that fill no block evenly.
ModelConfig random_config(Random& random) {
  ModelConfig config;
  config.name = "random";
  config.family = "llama";
  config.n_layers = random.between(1, 3);
  config.n_kv_heads = random.between(1, 3);
  config.n_heads = config.n_kv_heads * random.between(1, 5);
  config.head_dim = 2 * random.between(1, 20);
  config.hidden_dim = random.between(3, 70);
  config.ffn_dim = random.between(1, 90);
  config.vocab_size = random.between(2, 150);
  config.max_positions = 64;
  config.norm = random.one_of<Norm>({Norm::rms, Norm::layer});
  config.norm_epsilon = 1e-5;
  config.positions = random.one_of<Positions>({Positions::rope, Positions::learned});
  config.rope_theta = random.one_of<double>({100, 10000});
  if (random.between(0, 1) == 1) config.rope_scaling = Llama3RopeScaling{8, 1, 4, 16};
  config.activation = random.one_of<Activation>({Activation::swiglu, Activation::gelu_tanh});
  for (bool ModelConfig::*feature :
       {&ModelConfig::qkv_bias, &ModelConfig::out_bias, &ModelConfig::mlp_bias,
        &ModelConfig::qk_norm, &ModelConfig::tied_embeddings})
    config.*feature = random.between(0, 1) == 1;
  for (std::int64_t layer = 0; layer < config.n_layers; ++layer)
    config.windows.push_back(random.one_of<std::int64_t>({0, 5, 64}));
  return config;
}

TEMPLATE_LIST_TEST_CASE("Models of random shapes and features compute what the oracle computes", "",
                        TestExecs) {
  const auto round = GENERATE(range(0, 12));
  const auto combination = GENERATE(from_range(lossless_combinations()));
  Random random("model " + std::to_string(round));
  const ModelConfig config = random_config(random);
  CAPTURE(round, combination.name(), config.n_layers, config.n_heads, config.n_kv_heads,
          config.head_dim, config.hidden_dim, config.ffn_dim, config.vocab_size, config.windows);
  CAPTURE(config.norm == Norm::rms, config.positions == Positions::rope,
          config.activation == Activation::swiglu, config.qkv_bias, config.out_bias,
          config.mlp_bias, config.qk_norm, config.tied_embeddings);
  const TestType exec;
  const auto weights = random_weights(exec, config, Element::f32, 7);
  const oracle::Model model(config, oracle_weights(config, weights));
  const std::int64_t length = random.between(4, 60);
  const Ids ids = random.ids(length, config.vocab_size);
  const oracle::Matrix expected = model.logits(ids);
  DecoderRun<TestType> run(exec, config, weights, combination, 1, length);
  const auto prefix = random.between(1, length - 2);
  auto logits = run.step({{0, Ids(ids.begin(), ids.begin() + prefix)}});
  const auto second = run.step({{0, Ids(ids.begin() + prefix, ids.end() - 1)}});
  const auto third = run.step({{0, Ids(ids.end() - 1, ids.end())}});
  logits.insert(logits.end(), second.begin(), second.end());
  logits.insert(logits.end(), third.begin(), third.end());
  CHECK_THAT(logits, AllClose(expected.data, 2e-5 * max_abs(expected.data),
                              {expected.rows, expected.cols}));
}

}  // namespace
}  // namespace kvmeter::test

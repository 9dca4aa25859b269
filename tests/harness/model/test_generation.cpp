// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Random models against the oracle, what a generation counts, where it ends, and what is refused.
#include "harness/model/generation.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>

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

ModelConfig one_layer() {
  ModelConfig config;
  config.name = "one layer";
  config.family = "llama";
  config.n_layers = config.n_heads = config.n_kv_heads = 1;
  config.head_dim = config.hidden_dim = config.ffn_dim = 4;
  config.vocab_size = 9;
  config.max_positions = 1000;
  config.windows = {0};
  return config;
}

/// A generation with everything that it stands on.
template <class Exec>
struct Session {
  Exec exec;
  std::unique_ptr<KvCache<Exec>> cache;
  Decoder<Exec> decoder;
  Generation<Exec> generation;

  Session(const ModelConfig& config, const Combination& combination, GenerationSpec spec)
      : cache(make_cache(exec, combination.recipe(),
                         cache_spec(config, spec.batch, spec.max_tokens))),
        decoder(exec, config, random_weights(exec, config, Element::f32, 3),
                step_limits(
                    [&] {
                      spec.keeps_past = cache->keeps_past();
                      return spec;
                    }(),
                    cache->tile_queries()),
                Element::f32),
        generation(exec, spec, decoder, *cache) {}

  void run(std::vector<std::vector<std::int32_t>> prompts) {
    generation.start(std::move(prompts));
    generation.prefill();
    while (!generation.finished()) generation.decode();
  }
};

GenerationSpec generation_spec(std::int64_t batch, std::int64_t prompt, std::int64_t n_new) {
  GenerationSpec spec;
  spec.batch = batch;
  spec.max_prompt_tokens = prompt;
  spec.max_new_tokens = n_new;
  spec.max_tokens = prompt + n_new;
  return spec;
}

TEMPLATE_LIST_TEST_CASE("500 tokens from a prompt of 1: 500 K/V projections or 125,250", "",
                        TestExecs) {
  const auto combination = GENERATE(from_range(lossless_combinations()));
  CAPTURE(combination.name());
  Session<TestType> session(one_layer(), combination, generation_spec(1, 1, 500));
  session.run({{5}});
  CHECK(session.generation.sequences()[0].size() == 501);
  CHECK(session.decoder.kv_projections() == (session.cache->keeps_past() ? 500 : 125250));
  session.decoder.reset_counters();
  CHECK(session.decoder.kv_projections() == 0);
}

TEMPLATE_LIST_TEST_CASE("kv_projections counts tokens times layers over the batch", "", TestExecs) {
  const auto combination = GENERATE(from_range(lossless_combinations()));
  CAPTURE(combination.name());
  ModelConfig config = one_layer();
  config.n_layers = 3;
  config.windows = {0, 0, 0};
  Session<TestType> session(config, combination, generation_spec(2, 7, 3));
  session.run({{1, 2, 3, 4, 5, 6, 7}, {8, 0}});
  // With a cache 7 + 2 prompt tokens and twice 2 more; without, each sequence whole in 3 steps.
  const bool keeps = session.cache->keeps_past();
  CHECK(session.decoder.kv_projections() == 3 * (keeps ? 9 + 4 : 7 + 8 + 9 + 2 + 3 + 4));
}

TEMPLATE_LIST_TEST_CASE("A sequence stops at its end token, the others go on", "", TestExecs) {
  const auto combination = GENERATE(from_range(lossless_combinations()));
  CAPTURE(combination.name());
  const std::vector<std::vector<std::int32_t>> prompts{{1, 2, 3}, {4}, {5, 6}};
  auto spec = generation_spec(3, 3, 20);
  ModelConfig config = one_layer();
  Session<TestType> free_run(config, combination, spec);
  free_run.run(prompts);
  const auto endless = free_run.generation.sequences();

  const std::int32_t end_token = endless[0][3 + 1];  // the second that the first sequence generates
  config.eos_tokens = {end_token};
  spec.ignore_eos = false;
  Session<TestType> session(config, combination, spec);
  session.run(prompts);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    // As in the endless run, up to and with the first end token after the prompt.
    const auto from = endless[i].begin() + std::ssize(prompts[i]);
    auto stop = std::find(from, endless[i].end(), end_token);
    if (stop != endless[i].end()) ++stop;
    CHECK(session.generation.sequences()[i] == std::vector<std::int32_t>(endless[i].begin(), stop));
  }
  CHECK(session.generation.sequences()[0].size() <= 3 + 2);
}

TEMPLATE_LIST_TEST_CASE("start forgets the run before", "", TestExecs) {
  const auto combination = GENERATE(from_range(lossless_combinations()));
  CAPTURE(combination.name());
  Session<TestType> session(one_layer(), combination, generation_spec(2, 6, 9));
  session.run({{1, 2, 3, 4, 5, 6}, {7}});
  const auto first = session.generation.sequences();
  session.run({{8}, {0, 1, 2}});
  session.run({{1, 2, 3, 4, 5, 6}, {7}});
  CHECK(session.generation.sequences() == first);
}

TEMPLATE_LIST_TEST_CASE("Bad prompts are refused before anything is computed", "", TestExecs) {
  const auto combination = GENERATE(from_range(lossless_combinations()));
  Session<TestType> session(one_layer(), combination, generation_spec(2, 4, 4));
  CHECK_THROWS_AS(session.generation.start({{1}}), Error);
  CHECK_THROWS_AS(session.generation.start({{1}, {}}), Error);
  const std::vector<std::vector<std::vector<std::int32_t>>> refused{
      {{1}, {9}}, {{-1}, {1}}, {{1}, {1, 2, 3, 4, 5, 6, 7, 8, 1}}};
  for (const auto& prompts : refused) {
    CHECK_THROWS_AS(
        [&] {
          session.generation.start(prompts);
          session.generation.prefill();
        }(),
        Error);
  }
  CHECK(session.decoder.kv_projections() == 0);
  session.run({{1, 2}, {3}});
  CHECK(session.generation.sequences()[1].size() == 5);
}

}  // namespace
}  // namespace kvmeter::test

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What a generation counts, where it ends, and what is refused.
#include "harness/model/generation.hpp"

#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "tests/harness/model/decoder_run.hpp"

namespace kvmeter::test {
namespace {

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
  const std::int64_t end_at = GENERATE(0, 1, 4);  // of what the first sequence generates
  CAPTURE(combination.name(), end_at);
  const std::vector<std::vector<std::int32_t>> prompts{{1, 2, 3}, {4}, {5, 6}};
  auto spec = generation_spec(3, 3, 20);
  ModelConfig config = one_layer();
  Session<TestType> free_run(config, combination, spec);
  free_run.run(prompts);
  const auto endless = free_run.generation.sequences();

  const std::int32_t end_token = endless[0][static_cast<std::size_t>(3 + end_at)];
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
  CHECK(std::ssize(session.generation.sequences()[0]) <= 3 + end_at + 1);
}

TEMPLATE_LIST_TEST_CASE("start forgets the run before", "", TestExecs) {
  const auto combination = GENERATE(from_range(lossless_combinations()));
  CAPTURE(combination.name());
  Session<TestType> session(one_layer(), combination, generation_spec(2, 6, 9));
  session.run({{1, 2, 3, 4, 5, 6}, {7}});
  const auto first = session.generation.sequences();
  session.generation.start({{8}, {0, 1, 2}});
  CHECK(session.cache->footprint().live_bytes() == 0);
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

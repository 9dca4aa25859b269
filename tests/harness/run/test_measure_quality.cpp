// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The quality columns of whole points: who has them, and over which tokens.
#include "harness/run/measure_quality.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "harness/exec/ledger.hpp"
#include "harness/run/measure_point.hpp"
#include "tests/harness/model/safetensors_writer.hpp"
#include "tests/support/temp_dir.hpp"

namespace kvmeter::run {
namespace {

const StopRule quick{.min_samples = 1, .max_seconds = 0.01, .relative_noise = 10, .trials = 1};
using Prompts = std::vector<std::vector<std::int32_t>>;

/// A text of n_tokens for a fixture of 67 ids, in a file.
class Text {
 public:
  explicit Text(std::int64_t n_tokens) {
    std::vector<std::int32_t> ids;
    for (std::int32_t i = 0; i < n_tokens; ++i) ids.push_back((7 * i + i * i / 5) % 67);
    test::write_file(path(), test::safetensors_bytes(
                                 {{"token_ids", "I32", {n_tokens}, test::bytes_of_values(ids)}}));
  }
  [[nodiscard]] std::filesystem::path path() const { return m_folder / "text.safetensors"; }

 private:
  test::TempDir m_folder;
};

Point point_of(const Text& text, const std::string& more) {
  Point point = parse_point("weights=checkpoint prompt_tokens=20 new_tokens=2 " + more);
  point.model = KVMETER_SOURCE_DIR "/tests/fixtures/llama-gqa";
  point.text = text.path().string();
  return point;
}

PointRecord measured(const Point& point) {
  ledger();
  Bench bench;
  PointRecord record = measure_point(make_setup(point, 1), quick, {}, bench);
  CAPTURE(record.message);
  REQUIRE(record.status == Status::ok);
  return record;
}

double real(const PointRecord& record, const std::string& name) {
  return std::get<double>(record.values.at(name));
}

std::int64_t count(const PointRecord& record, const std::string& name) {
  return std::get<std::int64_t>(record.values.at(name));
}

Prompts prompts_of(const std::vector<std::int64_t>& lengths) {
  Prompts prompts;
  for (const std::int64_t length : lengths)
    prompts.emplace_back(static_cast<std::size_t>(length),
                         static_cast<std::int32_t>(prompts.size()));
  return prompts;
}

}  // namespace

TEST_CASE("A point with an f32 cache predicts a text as its reference does, bit for bit", "[cpu]") {
  const Text text(60);
  const std::string backend = GENERATE("serial", "openmp");
  const std::string element = GENERATE("f32", "bf16");  // of weights
  const PointRecord record = measured(
      point_of(text, "batch=3 k_element=f32 v_element=f32 attention=two_pass backend=" + backend +
                         " weight_element=" + element));
  CHECK(count(record, "n_scored") == 3 * 19);
  CHECK(real(record, "kl_mean") == 0);
  CHECK(real(record, "kl_max") == 0);
  CHECK(real(record, "kl_mean_se") == 0);
  CHECK(real(record, "top1_agreement") == 1);
  CHECK(real(record, "top1_agreement_se") == 0);
  CHECK(real(record, "nll_mean") == real(record, "nll_reference_mean"));
  CHECK(real(record, "perplexity") > 1);
}

TEST_CASE("A point without a cache has the quality of its codecs", "[cpu]") {
  const Text text(40);
  const std::string more = "batch=2 k_element=bf16 v_element=f16 cache=";
  const PointRecord none = measured(point_of(text, more + "none"));
  const PointRecord contiguous = measured(point_of(text, more + "contiguous"));
  CHECK(real(none, "kl_mean") > 0);
  for (const auto* name : {"nll_mean", "kl_mean", "kl_max", "top1_agreement"})
    CHECK(real(none, name) == real(contiguous, name));
}

TEST_CASE("Prompts that come again are scored once", "[cpu]") {
  const Text text(40);  // two prompts of 20
  const PointRecord record = measured(point_of(text, "batch=5"));
  CHECK(count(record, "n_scored") == 2 * 19);
}

TEST_CASE("No quality without a text, real weights, or a second token", "[cpu]") {
  const Text text(40);
  Point point = point_of(text, "");
  CHECK(has_quality(make_setup(point, 1)));
  SECTION("text") {
    point.text.clear();
  }
  SECTION("real weights") {
    point.weights = "random";
  }
  SECTION("a second token") {
    point.prompt_tokens = 1;
  }
  CHECK_FALSE(has_quality(make_setup(point, 1)));
  const PointRecord record = measured(point);
  for (const auto* name : {"n_scored", "nll_mean", "kl_mean", "top1_agreement", "perplexity"})
    CHECK_FALSE(record.values.contains(name));
}

TEST_CASE("Quality is no part of a point's memory or counts", "[cpu]") {
  const Text text(60);
  Point point = point_of(text, "batch=3");
  const PointRecord with = measured(point);
  point.text.clear();
  const PointRecord without = measured(point);
  for (const auto* name : {"cache_allocated_bytes", "cache_live_bytes", "weights_bytes",
                           "activations_bytes", "kv_projections"})
    CHECK(count(with, name) == count(without, name));
  CHECK(ledger().live_bytes("kvmeter::quality::") == 0);
  CHECK(ledger().live_bytes("kvmeter::cache::") == 0);
}

TEST_CASE("What a window leaves out shows: the reference sees all that the model sees", "[cpu]") {
  const Text text(20);
  Setup s = make_setup(point_of(text, "k_element=f32 v_element=f32 attention=two_pass"), 1);
  const auto with_window = [&](std::int64_t window) {
    s.cache.windows.assign(static_cast<std::size_t>(s.config.n_layers), window);
    Session<Kokkos::OpenMP> session(s);
    WeightsStore weights;
    PointRecord record;
    measure_quality(s, session, weights, record);
    return record;
  };
  const PointRecord all = with_window(0);
  CHECK(real(all, "kl_max") == 0);
  CHECK(real(with_window(19), "kl_max") == 0);  // 19 tokens are taken in
  for (const std::int64_t window : {1, 5, 18}) {
    const PointRecord record = with_window(window);
    CHECK(real(record, "kl_max") > 0);
    CHECK(real(record, "nll_reference_mean") == real(all, "nll_mean"));
  }
}

TEST_CASE("Prompts are scored up to a number of tokens, the first whatever its length", "[cpu]") {
  CHECK(scored_prompts(prompts_of({8192})).size() == 1);
  CHECK(scored_prompts(prompts_of({100'000, 1})).size() == 1);
  CHECK(scored_prompts(prompts_of({4096, 4096, 1})).size() == 2);
  CHECK(scored_prompts(prompts_of({4000, 4000, 4000})).size() == 2);
  CHECK(scored_prompts(Prompts(50, {1, 2, 3})).size() == 1);
  CHECK(scored_prompts({{1, 2}, {3, 4}, {1, 2}}) == Prompts{{1, 2}, {3, 4}});
}

}  // namespace kvmeter::run

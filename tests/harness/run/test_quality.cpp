// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What a cache does to predictions, beside the same in the double-precision oracle.
#include "harness/run/quality.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>

#include "harness/exec/ledger.hpp"
#include "harness/record/schema.hpp"
#include "tests/contract/all_variants.hpp"
#include "tests/harness/run/quality_run.hpp"
#include "tests/oracle/functions.hpp"
#include "tests/oracle/model.hpp"
#include "tests/support/reference_cases.hpp"

namespace kvmeter::run {
namespace {

using Catch::Approx;

std::filesystem::path fixture(const std::string& name) {
  return std::filesystem::path(KVMETER_SOURCE_DIR) / "tests/fixtures" / name;
}

Setup setup_of(const std::string& name) {
  Point point;
  point.model = fixture(name).string();
  point.weights = "checkpoint";
  point.weight_element = "f32";
  point.prompt_tokens = point.new_tokens = 1;  // what is evaluated is given apart
  return make_setup(point, 1);
}

/// The prompts of a fixture's expected tensors.
test::Sequences prompts_of(const std::string& name) {
  const test::Expected expected = test::read_expected(fixture(name));
  test::Sequences sequences;
  for (std::int64_t b = 0; b < expected.batch; ++b) {
    const auto prompt = expected.prompt_of(b);
    sequences.emplace_back(prompt.begin(), prompt.end());
  }
  return sequences;
}

ops::RowComparison compare_rows(std::span<const double> p, std::span<const double> q,
                                std::int64_t next) {
  ops::RowComparison row{oracle::negative_log_likelihood(p, next),
                         oracle::negative_log_likelihood(q, next), 0,
                         oracle::argmax(p) == oracle::argmax(q) ? 1.0 : 0.0};
  for (std::int64_t i = 0; i < std::ssize(p); ++i) {
    const double log_p = -oracle::negative_log_likelihood(p, i);
    row.kl += std::exp(log_p) * (log_p + oracle::negative_log_likelihood(q, i));
  }
  return row;
}

/// Quality of the oracle's model with a cache that rounds to this element.
Quality oracle_quality(const oracle::Model& model, const test::Sequences& sequences,
                       std::string_view element) {
  Quality quality;
  for (const auto& sequence : sequences) {
    const std::vector<std::int64_t> ids(sequence.begin(), sequence.end());
    const oracle::Matrix exact = model.logits(ids);
    oracle::Cache cache = model.make_cache(element, element);
    const oracle::Matrix rounded = model.advance(cache, ids);
    for (std::int64_t i = 0; i + 1 < exact.rows; ++i)
      quality.add(compare_rows(exact.row(i), rounded.row(i), ids[static_cast<std::size_t>(i + 1)]));
  }
  return quality;
}

ops::RowComparison row_of(double nll, double kl, double same_top) {
  return {nll - 1, nll, kl, same_top};
}

bool same(const Quality& a, const Quality& b) {
  return a.nll.n() == b.nll.n() && a.nll.mean() == b.nll.mean() && a.kl.mean() == b.kl.mean() &&
         a.kl_max == b.kl_max && a.kl.standard_error() == b.kl.standard_error() &&
         a.same_top.mean() == b.same_top.mean();
}

double real(const PointRecord& record, const std::string& name) {
  return std::get<double>(record.values.at(name));
}

}  // namespace

TEST_CASE("Means and errors of four positions, worked out by hand", "[cpu]") {
  Quality quality;
  for (const auto& row : {row_of(2, 0, 1), row_of(4, 0.5, 1), row_of(4, 0.25, 0), row_of(6, 0, 1)})
    quality.add(row);
  PointRecord record;
  put_quality(quality, record);
  CHECK(std::get<std::int64_t>(record.values.at("n_scored")) == 4);
  CHECK(real(record, "nll_mean") == 4);
  CHECK(real(record, "nll_mean_se") == Approx(std::sqrt(8.0 / 3 / 4)));
  CHECK(real(record, "nll_reference_mean") == 3);
  CHECK(real(record, "perplexity") == Approx(std::exp(4)));
  CHECK(real(record, "perplexity_se") == Approx(std::exp(4) * std::sqrt(8.0 / 3 / 4)));
  CHECK(real(record, "kl_mean") == 0.1875);
  CHECK(real(record, "kl_mean_se") == Approx(std::sqrt(0.171875 / 3 / 4)));
  CHECK(real(record, "kl_max") == 0.5);
  CHECK(real(record, "top1_agreement") == 0.75);
  CHECK(real(record, "top1_agreement_se") == Approx(std::sqrt(0.75 * 0.25 / 4)));
  for (const auto& [name, value] : record.values) {
    CAPTURE(name);
    CHECK(find_point_variable(name) != nullptr);
  }
}

TEST_CASE("A NaN leaves no number, and one position no error", "[cpu]") {
  Quality quality;
  quality.add(row_of(2, 0.5, 1));
  PointRecord record;
  put_quality(quality, record);
  CHECK(real(record, "nll_mean") == 2);
  CHECK_FALSE(record.values.contains("nll_mean_se"));
  CHECK_FALSE(record.values.contains("kl_mean_se"));
  for (const double kl : {0.1, double{NAN}, 0.2}) quality.add({1, 2, kl, kl});
  CHECK(std::isnan(quality.kl_max));
  PointRecord with_nan;
  put_quality(quality, with_nan);
  for (const auto* name : {"kl_mean", "kl_max", "top1_agreement", "top1_agreement_se"})
    CHECK_FALSE(with_nan.values.contains(name));
  CHECK(real(with_nan, "nll_mean") == 2);
}

TEST_CASE("An f32 cache is its own reference, and its likelihood that of the oracle", "[cpu]") {
  const auto* name = GENERATE("llama-gqa", "mistral-sliding", "qwen3-qknorm", "gpt2-mha");
  const auto sequences = prompts_of(name);
  CAPTURE(name);
  const Quality ours = test::qualities(setup_of(name), {CodecId::f32}, sequences, 16).front();
  const Quality theirs = oracle_quality(oracle::Model::load(fixture(name)), sequences, "none");
  CHECK(ours.nll.n() == theirs.nll.n());
  CHECK(ours.kl.mean() == 0);
  CHECK(ours.kl_max == 0);
  CHECK(ours.same_top.mean() == 1);
  CHECK(ours.nll.mean() == ours.nll_reference.mean());
  CHECK(ours.nll.standard_error() == Approx(theirs.nll.standard_error()).epsilon(1e-3));
  CHECK(std::abs(ours.nll.mean() - theirs.nll.mean()) <= 1e-4);
}

TEST_CASE("A rounded cache costs what its rounding costs in the oracle", "[cpu]") {
  const auto* name = GENERATE("llama-gqa", "mistral-sliding", "qwen3-qknorm", "gpt2-mha");
  const auto sequences = prompts_of(name);
  const oracle::Model model = oracle::Model::load(fixture(name));
  for (const test::CodecFacts& codec : test::codecs) {
    if (codec.id == CodecId::f32) continue;
    CAPTURE(name, codec.name);
    const Quality ours = test::qualities(setup_of(name), {codec.id}, sequences, 16).front();
    const Quality theirs = oracle_quality(model, sequences, codec.name);
    CHECK(ours.kl.n() == theirs.kl.n());
    CHECK(ours.kl.mean() == Approx(theirs.kl.mean()).epsilon(0.05));
    CHECK(ours.kl_max == Approx(theirs.kl_max).epsilon(0.1));
    // Roundings that fall differently move a position's likelihood by about sqrt(2 KL), up or down.
    const double n = static_cast<double>(theirs.nll.n());
    CAPTURE(theirs.kl.mean(), n);
    CHECK(std::abs(ours.nll.mean() - theirs.nll.mean()) <=
          1e-4 + std::sqrt(2 * theirs.kl.mean() / n));
    CHECK(ours.same_top.mean() == Approx(theirs.same_top.mean()).margin(0.02));
  }
}

TEST_CASE("Other caches in the pass leave a cache's quality as it is", "[cpu]") {
  const auto* name = GENERATE("llama-gqa", "mistral-sliding");
  const Setup s = setup_of(name);
  const auto sequences = prompts_of(name);
  const auto alone = test::qualities(s, {CodecId::bf16}, sequences, 16);
  const auto together =
      test::qualities(s, {CodecId::f16, CodecId::bf16, CodecId::f32}, sequences, 16);
  CHECK(same(together[1], alone[0]));
  CHECK(together[0].kl.mean() < together[1].kl.mean());
  CHECK(together[2].kl_max == 0);
}

TEST_CASE("Quality does not depend on the size of steps", "[cpu]") {
  const auto* name = GENERATE("llama-gqa", "mistral-sliding");
  const Setup s = setup_of(name);
  const auto sequences = prompts_of(name);
  const auto one_by_one = test::qualities(s, {CodecId::bf16}, sequences, 1).front();
  for (const std::int64_t chunk : {5, 16})  // rows of the few-rows matmul are equal bits
    CHECK(same(test::qualities(s, {CodecId::bf16}, sequences, chunk).front(), one_by_one));
  for (const std::int64_t chunk : {17, 24, 64}) {  // libraries sum in another order
    CAPTURE(name, chunk);
    const auto results = test::qualities(s, {CodecId::bf16, CodecId::f32}, sequences, chunk);
    CHECK(results[0].nll.n() == one_by_one.nll.n());
    CHECK(std::abs(results[0].nll.mean() - one_by_one.nll.mean()) <= 1e-5);
    CHECK(results[0].kl.mean() == Approx(one_by_one.kl.mean()).epsilon(0.01));
    CHECK(results[1].kl_max == 0);
  }
}

TEST_CASE("The pass holds logits of one chunk and nothing that grows with the text", "[cpu]") {
  ledger();
  ledger().reset_peak();
  const std::int64_t before = ledger().live_bytes("kvmeter::quality::");
  test::qualities(setup_of("llama-gqa"), {CodecId::f16, CodecId::bf16}, prompts_of("llama-gqa"), 4);
  const std::int64_t row = 67 * 4 + 4 + std::int64_t{sizeof(ops::RowComparison)};
  CHECK(before == 0);
  CHECK(ledger().peak_bytes("kvmeter::quality::") == 4 * row);
  CHECK(ledger().live_bytes("kvmeter::quality::") == 0);
}

}  // namespace kvmeter::run

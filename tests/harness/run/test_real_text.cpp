// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// SmolLM2-135M on real texts beside what transformers computed for it: run where those numbers
// (KVMETER_SHARED) and the checkpoint (scripts/fetch_model smollm2-135m) are at hand.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/model/safetensors_floats.hpp"
#include "harness/run/expected.hpp"
#include "harness/run/models.hpp"
#include "tests/contract/all_variants.hpp"
#include "tests/harness/run/quality_run.hpp"

namespace kvmeter::run {
namespace {

std::filesystem::path text_file(const std::string& text) {
  const char* shared = std::getenv("KVMETER_SHARED");
  if (shared == nullptr) SKIP("KVMETER_SHARED is not set");
  const auto file = std::filesystem::path(shared) / "real/smollm2" / (text + ".safetensors");
  if (!std::filesystem::exists(file)) SKIP("no texts there");
  if (!std::filesystem::exists(home() / "models/smollm2-135m")) SKIP("the model was not fetched");
  return file;
}

Setup setup_for(const std::string& weight_element, const Expected& expected) {
  Point point;
  point.model = "smollm2-135m";
  point.weights = "checkpoint";
  point.weight_element = weight_element;
  point.k_element = point.v_element = "f32";
  point.prompt_tokens = expected.prompt_tokens;
  point.new_tokens = std::max<std::int64_t>(1, expected.new_tokens);
  return make_setup(point, 1);
}

std::vector<std::int32_t> narrow(const std::vector<std::int64_t>& ids, std::size_t n) {
  return {ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(n)};
}

/// The whole text with the NLL of its tokens.
Expected nll_of(const SafetensorsFile& file, const std::string& tensor) {
  Expected e;
  e.batch = 1;
  e.nll = read_floats(file.at(tensor));
  e.prompt_tokens = static_cast<std::int64_t>(e.nll.size()) + 1;
  e.input_ids = {narrow(read_ints(file.at("token_ids")), e.nll.size() + 1)};
  return e;
}

Difference nll_difference(const std::string& text, const std::string& element,
                          const std::string& tensor) {
  const Expected expected = nll_of(SafetensorsFile::open(text_file(text)), tensor);
  const auto differences = compare_with_expected(setup_for(element, expected), expected, 1e-3);
  REQUIRE(differences.size() == 1);
  CAPTURE(text, element, differences[0].worst, differences[0].where, differences[0].mean);
  return differences[0];
}

/// What that folder's results.json says of a text, and how far two correct implementations are
/// apart in the mean likelihood (the table in its README, nats).
nlohmann::json results_of(const std::string& text) {
  std::ifstream file(text_file(text).parent_path() / "results.json");
  return nlohmann::json::parse(file).at("texts").at(text);
}
const std::map<std::string_view, double> nll_scatter{{"f16", 0.00008},      {"bf16", 0.00049},
                                                     {"int8_row", 0.00155}, {"int8", 0.00083},
                                                     {"int4", 0.03313},     {"fp8_e4m3", 0.00832}};

}  // namespace

TEST_CASE("SmolLM2 in f32 gives every token's likelihood as transformers does", "[slow]") {
  const auto* text = GENERATE("gpl3", "pyref");
  const Difference nll = nll_difference(text, "f32", "nll_f32");
  CHECK(nll.worst <= 1e-3);
  CHECK(std::abs(nll.mean) <= 1e-5);
}

TEST_CASE("SmolLM2 with bf16 weights gives the mean likelihood that transformers does", "[slow]") {
  const auto* text = GENERATE("gpl3", "pyref");
  CHECK(std::abs(nll_difference(text, "bf16", "nll_bf16_weights").mean) <= 0.002);
}

TEST_CASE("SmolLM2 in f32 continues texts with the tokens that transformers chooses", "[slow]") {
  const auto* text = GENERATE("gpl3", "pyref");
  const SafetensorsFile file = SafetensorsFile::open(text_file(text));
  Expected e;
  e.batch = 1;
  e.prompt_tokens = 256;
  e.input_ids = {narrow(read_ints(file.at("token_ids")), 256)};
  const std::vector<std::int64_t> generated = read_ints(file.at("greedy_f32"));
  e.generated = {narrow(generated, generated.size())};
  e.new_tokens = static_cast<std::int64_t>(generated.size());
  const auto differences = compare_with_expected(setup_for("f32", e), e, 1e-3);
  REQUIRE(differences.size() == 1);
  CHECK(differences[0].what == "greedy ids that differ");
  CHECK(differences[0].passed());
}

/// Means only: a last-bit difference flips roundings, which flip more in the next layer.
TEST_CASE("SmolLM2 in f32 loses by rounded caches what it loses in transformers", "[slow]") {
  const auto* text = GENERATE("gpl3", "pyref");
  const nlohmann::json results = results_of(text);
  std::vector<CodecId> codecs;
  std::vector<std::string_view> names;
  for (const test::CodecFacts& codec : test::codecs) {
    if (!results.at("caches").contains(codec.name)) continue;
    codecs.push_back(codec.id);
    names.push_back(codec.name);
  }
  const Expected whole = nll_of(SafetensorsFile::open(text_file(text)), "nll_f32");
  const auto ours = test::qualities(setup_for("f32", whole), codecs, whole.input_ids, 256);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const auto& theirs = results.at("caches").at(std::string(names[i]));
    CAPTURE(text, names[i], ours[i].kl_max, theirs.at("kl_max").get<double>());
    CHECK(ours[i].kl.n() == 2047);
    CHECK(std::abs(ours[i].nll_reference.mean() - results.at("f32").at("nll_mean").get<double>()) <=
          1e-5);
    CHECK(ours[i].kl.mean() == Catch::Approx(theirs.at("kl_mean").get<double>()).epsilon(0.2));
    CHECK(std::abs(ours[i].same_top.mean() - theirs.at("top1_agreement").get<double>()) <= 0.015);
    CHECK(std::abs(ours[i].nll.mean() - theirs.at("nll_mean").get<double>()) <=
          2 * nll_scatter.at(names[i]));
  }
}

}  // namespace kvmeter::run

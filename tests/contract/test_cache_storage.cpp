// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What is stored, and that it does not depend on what else is.
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cmath>
#include <map>
#include <numeric>

#include "tests/contract/cache_driver.hpp"
#include "tests/support/all_close.hpp"

namespace kvmeter::test {
namespace {

CacheSpec small_spec(std::int64_t batch, std::int64_t max_tokens) {
  CacheSpec spec;
  spec.n_layers = 2;
  spec.n_heads = 6;
  spec.n_kv_heads = 3;
  spec.head_dim = 64;
  spec.batch = batch;
  spec.max_tokens = max_tokens;
  spec.windows = {0, 9};
  return spec;
}

/// |stored - x| <= relative |x| + absolute, for each element.
void check_stored(const std::vector<double>& stored, std::span<const double> given,
                  const CodecFacts& codec) {
  std::vector<double> bounds;
  for (const double x : given)
    bounds.push_back(codec.relative_error * std::abs(x) + codec.absolute_error);
  CHECK_THAT(stored, AllClose(given, bounds));
}

TEMPLATE_LIST_TEST_CASE("What was appended is read back within what the codec declares", "",
                        TestExecs) {
  const auto combination = GENERATE(from_range(all_combinations()));
  CAPTURE(combination.name());
  Random random("stored");
  const CacheSpec spec = small_spec(2, 12);
  CacheDriver<TestType> driver(combination, spec, 24);
  const SequenceRows rows[] = {random_rows(random, spec, 12), random_rows(random, spec, 12)};
  for (const std::int32_t slot : {0, 1}) driver.set_rows(slot, rows[slot]);
  driver.step({{1, 5}, {0, 11}});
  driver.step({{0, 1}, {1, 1}});
  // Layers of a cache that keeps nothing share memory: only the last is still there.
  const std::int64_t first_layer = driver.cache().keeps_past() ? 0 : spec.n_layers - 1;
  for (std::int64_t layer = first_layer; layer < spec.n_layers; ++layer)
    for (const std::int32_t slot : {0, 1})
      for (std::int64_t i = 0; i < driver.stored(slot); ++i) {
        CAPTURE(layer, slot, i);
        const auto stored = driver.stored_row(slot, layer, i);
        const LayerRows& given = rows[slot][static_cast<std::size_t>(layer)];
        check_stored(stored.k, given.k.row(i), combination.k);
        check_stored(stored.v, given.v.row(i), combination.v);
      }
}

/// Prefill of `prompt` tokens and 3 decode steps of one sequence, among others or alone.
template <class Exec>
std::vector<double> all_outputs(CacheDriver<Exec>& driver, std::int32_t slot,
                                const SequenceRows& rows, std::int64_t prompt,
                                const std::vector<StepPart>& neighbours, bool slot_first) {
  driver.set_rows(slot, rows);
  std::vector<double> outputs;
  for (int step = 0; step < 4; ++step) {
    std::vector<StepPart> parts = neighbours;
    const StepPart own{slot, step == 0 ? prompt : 1};
    parts.insert(slot_first ? parts.begin() : parts.end(), own);
    const auto out = driver.step(parts);
    for (const oracle::Matrix& layer : slot_first ? out.front() : out.back())
      outputs.insert(outputs.end(), layer.data.begin(), layer.data.end());
  }
  return outputs;
}

TEMPLATE_LIST_TEST_CASE("Neighbours, slots and their order change no bit", "", TestExecs) {
  const auto combination = GENERATE(from_range(all_combinations()));
  CAPTURE(combination.name());
  Random random("neighbours");
  const std::int64_t prompt = random.between(1, 40);
  const CacheSpec alone_spec = small_spec(1, 64);
  const CacheSpec spec = small_spec(4, 64);
  const SequenceRows rows = random_rows(random, spec, 64);
  CacheDriver<TestType> alone(combination, alone_spec, 64);
  const auto expected = all_outputs(alone, 0, rows, prompt, {}, true);

  CacheDriver<TestType> crowded(combination, spec, 4 * 64);
  for (std::int32_t slot = 0; slot < 4; ++slot)
    crowded.set_rows(slot, random_rows(random, spec, 64));
  CHECK(all_outputs(crowded, 2, rows, prompt, {{3, 7}, {0, 1}, {1, 2}}, false) == expected);

  CacheDriver<TestType> pair(combination, spec, 4 * 64);
  pair.set_rows(1, random_rows(random, spec, 64));
  CHECK(all_outputs(pair, 3, rows, prompt, {{1, 9}}, true) == expected);
}

TEMPLATE_LIST_TEST_CASE("Placements that keep the past give the same bits", "", TestExecs) {
  Random random("placements");
  const CacheSpec spec = small_spec(1, 64);
  const SequenceRows rows = random_rows(random, spec, 64);
  const std::int64_t prompt = random.between(1, 60);
  std::map<std::string, std::vector<double>> by_elements;
  for (const Combination& combination : all_combinations()) {
    CAPTURE(combination.name(), prompt);
    CacheDriver<TestType> driver(combination, spec, 64);
    if (!driver.cache().keeps_past()) continue;
    const auto outputs = all_outputs(driver, 0, rows, prompt, {}, true);
    const std::string elements =
        fmt::format("{} {} {}", combination.k.name, combination.v.name, combination.attention.name);
    const auto [first, is_new] = by_elements.emplace(elements, outputs);
    if (!is_new) CHECK(outputs == first->second);
  }
  CHECK(by_elements.size() == codecs.size() * codecs.size() * attentions.size());
}

TEMPLATE_LIST_TEST_CASE("Placements give the same bits for one prefill, `none` included", "",
                        TestExecs) {
  Random random("prefill bits");
  const CacheSpec spec = small_spec(1, 64);
  const SequenceRows rows = random_rows(random, spec, 64);
  const std::int64_t prompt = random.between(1, 64);
  for (const auto& attention : attentions) {
    std::vector<std::vector<double>> outputs;
    for (const Combination& combination : lossless_combinations()) {
      if (combination.attention.id != attention.id) continue;
      CacheDriver<TestType> driver(combination, spec, 64);
      driver.set_rows(0, rows);
      const auto out = driver.step({{0, prompt}}).front();
      outputs.push_back(out.front().data);
      CAPTURE(combination.name(), prompt);
      CHECK(outputs.back() == outputs.front());
    }
    CHECK(outputs.size() == placements.size());
  }
}

}  // namespace
}  // namespace kvmeter::test

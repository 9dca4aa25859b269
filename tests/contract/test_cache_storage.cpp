// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What is stored, and that it does not depend on what else is.
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cmath>

#include "tests/contract/cache_driver.hpp"
#include "tests/support/all_close.hpp"

namespace kvmeter::test {
namespace {

CacheSpec small_spec(std::int64_t batch, std::int64_t max_tokens) {
  return {.n_layers = 2,
          .n_heads = 6,
          .n_kv_heads = 3,
          .head_dim = 64,
          .batch = batch,
          .max_tokens = max_tokens,
          .windows = {0, 9}};
}

/// |stored - x| <= relative |x| + largest (the row's largest |x|) + absolute, for each element.
void check_stored(const std::vector<double>& stored, std::span<const double> given,
                  const CodecFacts& codec, std::size_t head_dim) {
  std::vector<double> bounds;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto row = given.subspan(i / head_dim * head_dim, head_dim);
    bounds.push_back(codec.relative_error * std::abs(given[i]) + codec.absolute_error +
                     codec.largest_error * max_abs(row));
  }
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
        check_stored(stored.k, given.k.row(i), combination.k, 64);
        check_stored(stored.v, given.v.row(i), combination.v, 64);
      }
}

/// Rows of which none fits into fp8 unscaled, larger in the second layer.
void enlarge(SequenceRows& rows, const std::vector<float>& by) {
  for (std::size_t layer = 0; layer < rows.size(); ++layer)
    for (oracle::Matrix* matrix : {&rows[layer].k, &rows[layer].v})
      for (double& x : matrix->data) x *= by[layer];
}

TEMPLATE_LIST_TEST_CASE("Every layer has its own scale, in every placement", "", TestExecs) {
  const auto combination = GENERATE(from_range(all_combinations()));
  if (combination.k.id != CodecId::fp8_e4m3 || combination.v.id != CodecId::fp8_e4m3) return;
  CAPTURE(combination.name());
  Random random("scales");
  const CacheSpec spec = small_spec(1, 12);
  const std::vector<float> scales{64, 4096};  // powers of two: they round nothing
  SequenceRows rows = random_rows(random, spec, 12);
  enlarge(rows, scales);
  CacheDriver<TestType> driver(combination, spec, 12);
  for (std::size_t layer = 0; layer < scales.size(); ++layer)
    driver.cache().set_scales(static_cast<std::int64_t>(layer), scales[layer], scales[layer]);
  driver.set_rows(0, rows);
  driver.step({{0, 12}});
  CodecFacts scaled = combination.k;
  const std::int64_t first_layer = driver.cache().keeps_past() ? 0 : spec.n_layers - 1;
  for (std::int64_t layer = first_layer; layer < spec.n_layers; ++layer)
    for (std::int64_t i = 0; i < 12; ++i) {
      CAPTURE(layer, i);
      const auto stored = driver.stored_row(0, layer, i);
      const LayerRows& given = rows[static_cast<std::size_t>(layer)];
      scaled.absolute_error =
          combination.k.absolute_error * double{scales[static_cast<std::size_t>(layer)]};
      check_stored(stored.k, given.k.row(i), scaled, 64);
      check_stored(stored.v, given.v.row(i), scaled, 64);
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

/// Outputs of every token, given in steps of these sizes. [n_layers][tokens, n_heads * head_dim]
template <class Exec>
PartOutput outputs_in_chunks(const Combination& combination, const CacheSpec& spec,
                             const SequenceRows& rows, const std::vector<std::int64_t>& chunks) {
  CacheDriver<Exec> driver(combination, spec, spec.max_tokens);
  driver.set_rows(0, rows);
  PartOutput outputs(static_cast<std::size_t>(spec.n_layers));
  for (const std::int64_t n : chunks) {
    const PartOutput step = driver.step({{0, n}}).front();
    for (std::size_t layer = 0; layer < outputs.size(); ++layer) {
      auto& all = outputs[layer].data;
      all.insert(all.end(), step[layer].data.begin(), step[layer].data.end());
    }
  }
  return outputs;
}

std::vector<std::int64_t> random_chunks(Random& random, std::int64_t n) {
  std::vector<std::int64_t> chunks;
  for (; n > 0; n -= chunks.back())
    chunks.push_back(random.between(1, std::min<std::int64_t>(n, 30)));
  return chunks;
}

TEMPLATE_LIST_TEST_CASE("Placements and chunks of any size give the same bits", "", TestExecs) {
  const auto& k = GENERATE(from_range(codecs));
  const auto& attention = GENERATE(from_range(attentions));
  const auto& v = codecs[(static_cast<std::size_t>(k.id) + 1) % codecs.size()];
  Random random("chunks");
  CacheSpec spec = small_spec(1, 75);
  spec.head_dim = random.one_of<std::int64_t>({40, 64});
  spec.sink_tokens = random.between(0, 5);
  const SequenceRows rows = random_rows(random, spec, 75);
  const std::vector<std::int64_t> one_by_one(75, 1);
  PartOutput expected;
  for (const auto& placement : placements) {
    if (!runs_here(placement.id)) continue;
    for (const auto& chunks :
         {std::vector<std::int64_t>{75}, one_by_one, random_chunks(random, 75)}) {
      const Combination combination{placement, k, v, attention};
      spec.block_tokens = random.one_of<std::int64_t>({1, 5, 16, 100});
      spec.max_step_tokens = std::ranges::max(chunks);
      const auto got = outputs_in_chunks<TestType>(combination, spec, rows, chunks);
      if (expected.empty()) expected = got;
      CAPTURE(combination.name(), spec.head_dim, chunks);
      for (std::size_t layer = 0; layer < got.size(); ++layer)
        CHECK(got[layer].data == expected[layer].data);
    }
  }
}

}  // namespace
}  // namespace kvmeter::test

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// A whole point from its spelling to its record: the counts that have to be exact, and how points
// that cannot run end. No test looks at a time.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "harness/core/error.hpp"
#include "harness/exec/ledger.hpp"
#include "harness/run/measure_point.hpp"
#include "harness/run/prompts.hpp"
#include "harness/run/reference_check.hpp"
#include "harness/run/session.hpp"

namespace kvmeter::run {
namespace {

const StopRule quick{.min_samples = 1, .max_seconds = 0.01, .relative_noise = 10, .trials = 1};

PointRecord measured(const std::string& spelling, const Limits& limits = {},
                     const StopRule& rule = quick) {
  ledger();
  Bench bench;
  return measure_point(make_setup(parse_point(spelling), 1), rule, limits, bench);
}

std::int64_t count(const PointRecord& record, const std::string& name) {
  return std::get<std::int64_t>(record.values.at(name));
}

}  // namespace

TEST_CASE("n tokens cost n K and V computations with a cache and 1 + 2 + ... + n without one",
          "[cpu]") {
  const std::string point = "model=tiny n_layers=1 prompt_tokens=1 new_tokens=500 cache=";
  CHECK(count(measured(point + "contiguous"), "kv_projections") == 500);
  CHECK(count(measured(point + "none"), "kv_projections") == 125'250);
}

TEST_CASE("bytes of the cache are those of the formula", "[cpu]") {
  const auto* element = GENERATE("f32", "f16", "bf16");
  const std::int64_t size = std::string_view(element) == "f32" ? 4 : 2;
  const PointRecord record =
      measured(std::string("model=tiny batch=3 prompt_tokens=10 new_tokens=7 k_element=") +
               element + " v_element=" + element);
  REQUIRE(record.status == Status::ok);
  const std::int64_t token = 2 * 2 * 2 * 16 * size;  // K and V, layers, KV heads, head_dim
  CHECK(count(record, "cache_formula_bytes") == 3 * 16 * token);  // the last token is not fed back
  CHECK(count(record, "cache_live_bytes") == 3 * 16 * token);
  CHECK(count(record, "cache_allocated_bytes") == 3 * 16 * token);
}

TEST_CASE("what was predicted is what was allocated, and nothing is unexplained", "[cpu]") {
  const auto* cache = GENERATE(
      "none", "contiguous", "growing", "paged", "virtual", "ring window_tokens=8",
      "ring window_tokens=8 sink_tokens=3", "contiguous window_tokens=8 sink_tokens=3",
      "contiguous offload_layers=1", "paged block_tokens=5 offload_layers=2",
      "paged shared_prefix_tokens=13", "contiguous shared_prefix_tokens=13",
      "growing prefill_chunk=7", "growing prefill_chunk=7 offload_layers=1",
      "growing prefill=synthetic", "contiguous prefill=synthetic", "contiguous tie_layers=true",
      "contiguous sampling=temperature", "ring window_tokens=18 prefill_chunk=2");
  const auto* element = GENERATE("f32", "int4");
  const auto* attention = GENERATE("two_pass", "online", "split");
  const std::string point = std::string("model=tiny batch=2 prompt_tokens=20 new_tokens=5 cache=") +
                            cache + " k_element=" + element +
                            " v_element=f16 attention=" + attention;
  const PointRecord record = measured(point);
  const Prediction p = predict(make_setup(parse_point(point), 1));
  CAPTURE(point, record.message);
  REQUIRE(record.status == Status::ok);
  CHECK(count(record, "cache_unexplained_bytes") == 0);
  CHECK(count(record, "cache_ledger_bytes") == p.cache.ledger_bytes());
  CHECK(count(record, "cache_ledger_peak_bytes") == p.cache_peak_bytes);
  CHECK(count(record, "cache_allocated_bytes") == p.cache.allocated_bytes());
  CHECK(count(record, "cache_offloaded_bytes") == p.cache.offloaded_bytes);
  // Kokkos rounds each View up to 8 bytes.
  CHECK(count(record, "weights_bytes") == Catch::Approx(p.weights_bytes).margin(8 * 100));
  CHECK(count(record, "activations_bytes") == Catch::Approx(p.activations_bytes).margin(8 * 100));
}

TEST_CASE("rows never change, and decoding is prefilling, in every cache that keeps its rows",
          "[cpu]") {
  const StopRule patient{.min_samples = 1, .max_seconds = 4, .relative_noise = 10, .trials = 1};
  const auto* cache = GENERATE("contiguous", "growing", "paged", "virtual", "paged block_tokens=3");
  const auto* element = GENERATE("f32", "int8");
  const PointRecord record =
      measured(std::string("model=tiny weight_element=f32 prompt_tokens=40 new_tokens=20 batch=2 "
                           "k_element=") +
                   element + " v_element=f32 cache=" + cache,
               {}, patient);
  REQUIRE(record.status == Status::ok);
  CHECK(count(record, "cache_rows_compared") == 2 * 2 * 2 * 40);  // layers, batch, heads
  CHECK(count(record, "cache_rows_changed") == 0);
  CHECK(count(record, "cache_rows_steps") == 19);
  CHECK(std::get<double>(record.values.at("decode_max_difference")) <= summation_tolerance);
}

TEST_CASE("a prefix in common is computed once", "[cpu]") {
  const PointRecord record = measured(
      "model=tiny cache=paged batch=4 prompt_tokens=40 shared_prefix_tokens=33 new_tokens=5");
  REQUIRE(record.status == Status::ok);
  CHECK(count(record, "kv_projections") == 2 * (33 + 4 * (7 + 4)));
  // Two blocks of 16 are shared, the 33rd row is copied.
  const std::int64_t token = 2 * 2 * 16 * 2;  // K and V, heads, head_dim, bytes
  CHECK(count(record, "cache_shared_bytes") == 2 * 3 * 32 * token);
  CHECK(count(record, "effective_block_tokens") == 16);
  const auto real = [&](const char* name) { return std::get<double>(record.values.at(name)); };
  if (count(record, "n_samples") == 4)  // of one generation
    CHECK(real("prefill_tokens_per_s") == Catch::Approx(4 * 40 / real("ttft_s")));
}

TEST_CASE("a synthetic prefill is not timed, and what is kept is", "[cpu]") {
  const PointRecord record =
      measured("model=tiny prefill=synthetic prompt_tokens=700 new_tokens=5 cache=paged");
  REQUIRE(record.status == Status::ok);
  CHECK_FALSE(record.values.contains("ttft_s"));
  CHECK_FALSE(record.values.contains("prefill_tokens_per_s"));
  CHECK(record.values.contains("itl_s"));
  CHECK(count(record, "kv_projections") == 2 * 4);
  CHECK(count(record, "cache_tokens") == 2 * 704);
  for (const Sample& sample : record.samples) CHECK(sample.phase == Phase::decode);
}

TEST_CASE("without new tokens there is a prefill and nothing after it", "[cpu]") {
  const PointRecord record = measured("model=tiny prompt_tokens=20 new_tokens=0");
  REQUIRE(record.status == Status::ok);
  CHECK(count(record, "n_generated") == 0);
  CHECK(count(record, "kv_projections") == 2 * 20);
  CHECK_FALSE(record.values.contains("itl_s"));
}

TEST_CASE("a scale of the layer brings fp8 nearer", "[cpu]") {
  const std::string point =
      "model=tiny weight_element=f32 prompt_tokens=40 new_tokens=5 k_element=fp8_e4m3 "
      "v_element=fp8_e4m3 fp8_scale=";
  const PointRecord plain = measured(point + "none");
  const PointRecord scaled = measured(point + "layer");
  REQUIRE(plain.status == Status::ok);
  REQUIRE(scaled.status == Status::ok);
  const auto difference = [](const PointRecord& record) {
    return std::get<double>(record.values.at("check_max_difference"));
  };
  CHECK(difference(scaled) < difference(plain));
}

TEST_CASE("combinations that are not done are refused by name", "[cpu]") {
  const auto* unsupported =
      GENERATE("cache=none prefill_chunk=4", "cache=none offload_layers=1",
               "cache=none shared_prefix_tokens=4", "cache=none prefill=synthetic",
               "cache=virtual offload_layers=1", "cache=ring", "sink_tokens=4",
               "k_element=fp8_e4m3 fp8_scale=layer prefill=synthetic",
               "cache=paged block_tokens=1 batch=100000 prompt_tokens=100000");
  CAPTURE(unsupported);
  CHECK_THROWS_AS(make_setup(parse_point(std::string("model=tiny ") + unsupported), 1),
                  UnsupportedError);
  const auto* wrong = GENERATE("offload_layers=3", "shared_prefix_tokens=128");
  CAPTURE(wrong);
  CHECK_THROWS_AS(make_setup(parse_point(std::string("model=tiny ") + wrong), 1), UsageError);
}

TEST_CASE("a point that cannot fit is not tried", "[cpu]") {
  const PointRecord record = measured("model=tiny", {.point_seconds = 0, .memory_bytes = 1000});
  CHECK(record.status == Status::skipped_predicted);
  CHECK(record.message.find("needs") != std::string::npos);
  CHECK(record.samples.empty());
  CHECK_FALSE(record.values.contains("ttft_s"));
}

TEST_CASE("a context as long as the model's positions can be had, and no longer", "[cpu]") {
  const auto setup = [](const char* tokens) {
    return make_setup(parse_point(std::string("model=gpt2 ") + tokens), 1);
  };
  // The last token that is generated is not fed back.
  CHECK_NOTHROW(setup("prompt_tokens=1024 new_tokens=1"));
  CHECK_NOTHROW(setup("prompt_tokens=1000 new_tokens=25"));
  CHECK_THROWS_AS(setup("prompt_tokens=1000 new_tokens=26"), UsageError);
  CHECK_THROWS_AS(setup("prompt_tokens=1025 new_tokens=0"), UsageError);
}

TEST_CASE("points that make no sense are refused before anything is allocated", "[cpu]") {
  const auto* point = GENERATE("model=gpt2 prompt_tokens=1000 new_tokens=100",
                               "model=tiny kv_heads=3", "model=nosuch", "model=tiny threads=4096");
  CHECK_THROWS_AS(make_setup(parse_point(point), 1), Error);
}

TEST_CASE("greedy ids are the same on every back end and thread count", "[cpu]") {
  const auto ids = [](const std::string& more) {
    const Setup s =
        make_setup(parse_point("model=tiny batch=2 prompt_tokens=30 new_tokens=20 " + more), 7);
    return visit_backend(s.backend, [&](auto tag) {
      Session<typename decltype(tag)::type> session(s);
      WeightsStore weights;
      session.build_decoder(s, weights);
      session.build_cache(s);
      session.generation->start(make_prompts(s));
      session.generation->prefill();
      while (!session.generation->finished()) session.generation->decode();
      return session.generation->sequences();
    });
  };
  const std::string element = GENERATE("weight_element=f32 ", "weight_element=bf16 ");
  CAPTURE(element);
  const auto expected = ids(element + "backend=serial");
  CHECK(ids(element + "backend=openmp threads=1") == expected);
  CHECK(ids(element + "backend=openmp") == expected);
  for (const auto* cache : {"cache=growing", "cache=paged prefill_chunk=7", "cache=virtual",
                            "cache=paged block_tokens=1", "attention=split prefill_chunk=16",
                            "cache=paged offload_layers=1"})
    CHECK(ids(element + cache) == expected);
  // Without a cache decode steps have many rows, whose activations some processors round to bf16.
  if (element == "weight_element=f32 ")
    CHECK(ids(element + "backend=openmp cache=none") == expected);
}

TEST_CASE("a steady decode step allocates nothing and waits as planned", "[cpu]") {
  const Setup s = make_setup(parse_point("model=tiny batch=2 prompt_tokens=30 new_tokens=20"), 7);
  Session<Kokkos::OpenMP> session(s);
  WeightsStore weights;
  session.build_decoder(s, weights);
  session.build_cache(s);
  session.generation->start(make_prompts(s));
  session.generation->prefill();
  session.generation->decode();
  const Audit audit;
  session.generation->decode();
  const AuditCounts counts = audit.counts();
  CHECK(AuditCounts::total(counts.allocations) == 0);
  for (const auto& [label, n] : counts.kernels) CHECK(label.starts_with("kvmeter::"));
  std::int64_t own_fences = 0;
  for (const auto& [label, n] : counts.fences)
    if (label.starts_with("kvmeter::")) own_fences += n;
  CHECK(own_fences == 1);  // the host reads the sampled ids
}

}  // namespace kvmeter::run

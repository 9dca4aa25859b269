// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Any number of caches beside one reference, as a point's quality pass does it with one.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <vector>

#include "harness/run/cache_setup.hpp"
#include "harness/run/quality.hpp"
#include "harness/run/session.hpp"

namespace kvmeter::test {

using Sequences = std::vector<std::vector<std::int32_t>>;

/// The model of the setup with a contiguous two_pass cache of each codec, K and V alike, over the
/// sequences in steps of `chunk`. \return [codecs]
inline std::vector<run::Quality> qualities(const run::Setup& s, const std::vector<CodecId>& codecs,
                                           const Sequences& sequences, std::int64_t chunk) {
  using Exec = Kokkos::DefaultHostExecutionSpace;
  std::int64_t n_tokens = 0;
  for (const auto& sequence : sequences) n_tokens = std::max(n_tokens, std::ssize(sequence));
  run::Session<Exec> session(s);
  const auto cache_of = [&](CodecId codec) {
    CacheSpec spec = run::cache_spec(s.config, 1, n_tokens);
    spec.max_step_tokens = chunk;
    return make_cache(session.exec, {PlacementId::Contiguous, codec, codec, AttentionId::two_pass},
                      spec);
  };
  const auto reference = cache_of(CodecId::f32);
  std::vector<std::unique_ptr<KvCache<Exec>>> caches;
  std::vector<KvCache<Exec>*> pointers;
  for (const CodecId codec : codecs) {
    caches.push_back(cache_of(codec));
    pointers.push_back(caches.back().get());
  }
  run::WeightsStore weights;
  Decoder<Exec> decoder(session.exec, s.config, weights.get(session.exec, s),
                        run::quality_limits(n_tokens, chunk, reference->tile_queries()), s.element);
  const auto results =
      run::evaluate_quality<Exec>(session.exec, decoder, *reference, pointers, sequences, chunk);
  CHECK(reference->footprint().formula_bytes == 0);  // left empty
  for (const auto& cache : caches) CHECK(cache->footprint().formula_bytes == 0);
  return results;
}

}  // namespace kvmeter::test

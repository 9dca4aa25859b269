// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// One point ready to run on one back end: decoder, cache and generation, built from a setup.
#pragma once

#include <memory>

#include "harness/exec/threads.hpp"
#include "harness/run/setup.hpp"
#include "harness/run/weights_store.hpp"

namespace kvmeter::run {

/// What fp8 elements of a layer are divided by.
struct LayerScales {
  float k = 1;
  float v = 1;
};

template <class Exec>
StepLimits limits_of(const Setup& s) {
  return step_limits(s.generation,
                     attention::tile_queries<Exec>(static_cast<std::int32_t>(s.config.n_heads),
                                                   static_cast<std::int32_t>(s.config.n_kv_heads)));
}

/// Declared in the order in which things are built; the ledger and RSS are read between the steps.
template <class Exec>
struct Session {
  Exec exec;
  ThreadLimit threads;  // of libraries that this thread calls
  std::unique_ptr<Decoder<Exec>> decoder;
  std::unique_ptr<KvCache<Exec>> cache;
  std::unique_ptr<Generation<Exec>> generation;
  std::vector<LayerScales> scales;  // [n_layers] of K and V; empty: 1

  explicit Session(const Setup& s)
      : exec(make_exec<Exec>(s.point.threads)), threads(thread_count(exec)) {}

  void build_decoder(const Setup& s, WeightsStore& weights) {
    decoder = std::make_unique<Decoder<Exec>>(exec, s.config, weights.get(exec, s),
                                              limits_of<Exec>(s), s.element);
  }
  void build_cache(const Setup& s) {
    cache = make_cache(exec, s.recipe, s.cache);
    set_scales(*cache);
    generation = std::make_unique<Generation<Exec>>(exec, s.generation, *decoder, *cache);
  }
  void set_scales(KvCache<Exec>& of) const {
    for (std::size_t layer = 0; layer < scales.size(); ++layer)
      of.set_scales(static_cast<std::int64_t>(layer), scales[layer].k, scales[layer].v);
  }
};

}  // namespace kvmeter::run

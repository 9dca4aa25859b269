// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// One point ready to run on one back end: decoder, cache and generation, built from a setup.
#pragma once

#include <memory>

#include "harness/exec/threads.hpp"
#include "harness/run/setup.hpp"
#include "harness/run/weights_store.hpp"

namespace kvmeter::run {

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

  explicit Session(const Setup& s)
      : exec(make_exec<Exec>(s.point.threads)), threads(thread_count(exec)) {}

  void build_decoder(const Setup& s, WeightsStore& weights) {
    decoder = std::make_unique<Decoder<Exec>>(exec, s.config, weights.get(exec, s),
                                              limits_of<Exec>(s), s.element);
  }
  void build_cache(const Setup& s) {
    cache = make_cache(exec, s.recipe, s.cache);
    generation = std::make_unique<Generation<Exec>>(exec, s.generation, *decoder, *cache);
  }
};

}  // namespace kvmeter::run

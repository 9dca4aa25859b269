// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The weights of the latest model, kept from point to point so that a sweep loads a model once.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <typeinfo>

#include "harness/run/setup.hpp"

namespace kvmeter::run {

class WeightsStore {
 public:
  /// The weights that the setup asks for; others are freed first. Views are shared, not copied.
  template <class Exec>
  ModelWeights<typename Exec::memory_space> get(const Exec& exec, const Setup& s) {
    using Held = ModelWeights<typename Exec::memory_space>;
    const ModelConfig config = weights_config(s);
    const std::string key = fmt::format(
        "{} {} {} {} {} {} {} {}", typeid(Held).name(), s.files.config.string(), s.point.weights,
        name_of(s.element), s.config.n_kv_heads, s.config.n_layers, s.point.tie_layers, s.seed);
    if (key != m_key) {
      clear();  // where loading fails nothing is held
      m_weights = std::make_shared<Held>(
          s.random_weights() ? kvmeter::random_weights(exec, config, s.element, s.seed)
                             : load_weights(exec, config, s.files.weights, s.element));
      auto& layers = std::static_pointer_cast<Held>(m_weights)->layers;
      layers.resize(static_cast<std::size_t>(s.config.n_layers), layers.front());  // tied: Views
      m_key = key;
    }
    return *std::static_pointer_cast<Held>(m_weights);
  }

  void clear() {
    m_weights.reset();
    m_key.clear();
  }

 private:
  std::string m_key;
  std::shared_ptr<void> m_weights;
};

}  // namespace kvmeter::run

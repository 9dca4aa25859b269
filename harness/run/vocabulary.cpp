// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/vocabulary.hpp"

#include "harness/run/registry.hpp"

namespace kvmeter::run {
namespace {

std::vector<std::string> names(std::span<const VariantInfo> variants) {
  std::vector<std::string> result;
  for (const VariantInfo& variant : variants) result.emplace_back(variant.name);
  return result;
}

}  // namespace

Vocabulary vocabulary() {
  return {{{"cache", names(placements())},
           {"k_element", names(codecs())},
           {"v_element", names(codecs())},
           {"attention", names(attentions())}}};
}

}  // namespace kvmeter::run

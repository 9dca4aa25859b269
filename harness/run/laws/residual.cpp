// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/laws/residual.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace kvmeter::laws {
namespace {

struct Sum {
  std::string_view name;  // of the variable
  std::int64_t recorded;
  std::string_view what;  // it has to be
  std::int64_t expected;
};

std::vector<Sum> sums_of(const CacheFacts& f) {
  const std::int64_t live = f.formula + f.scale - f.shared;
  return {
      {"formula", f.formula, "cache_tokens x KV heads x head_dim x bytes of K and V",
       formula_bytes(f)},
      {"live", f.live, "formula + scale - shared", live},
      {"allocated", f.allocated, "live + block_rounding + reserve",
       live + f.block_rounding + f.reserve},
      {"metadata", f.metadata, "scale + table", f.scale + f.table},
      {"unexplained", f.unexplained, "ledger - all other parts",
       f.ledger - f.formula - f.explained()},
      {"unexplained", f.unexplained, "nothing", 0},
  };
}

using Named = std::pair<std::string_view, std::int64_t>;

/// The first is never more than the second.
std::vector<std::pair<Named, Named>> orders_of(const CacheFacts& f) {
  return {{{"allocated", f.allocated}, {"reserved", f.reserved}},
          {{"offloaded", f.offloaded}, {"allocated", f.allocated}},
          {{"ledger", f.ledger}, {"ledger_peak", f.ledger_peak}}};
}

std::vector<Named> parts_of(const CacheFacts& f) {
  return {{"tokens", f.tokens},
          {"formula_bytes", f.formula},
          {"scale_bytes", f.scale},
          {"shared_bytes", f.shared},
          {"reserve_bytes", f.reserve},
          {"offloaded_bytes", f.offloaded},
          {"block_rounding_bytes", f.block_rounding},
          {"staging_bytes", f.staging},
          {"table_bytes", f.table},
          {"allocator_bytes", f.allocator}};
}

}  // namespace

std::int64_t formula_bytes(const CacheFacts& facts) {
  return facts.tokens * facts.token_bytes();
}

std::vector<std::string> residual_mistakes(const CacheFacts& facts) {
  std::vector<std::string> mistakes;
  for (const auto& [name, value] : parts_of(facts))
    if (value < 0) mistakes.push_back(fmt::format("cache_{} is {}, below 0", name, value));
  for (const auto& [less, more] : orders_of(facts))
    if (less.second > more.second)
      mistakes.push_back(fmt::format("cache_{}_bytes is {}, above cache_{}_bytes with {}",
                                     less.first, less.second, more.first, more.second));
  for (const auto& [name, recorded, what, expected] : sums_of(facts))
    if (recorded != expected)
      mistakes.push_back(
          fmt::format("cache_{}_bytes is {}; {} is {}", name, recorded, what, expected));
  return mistakes;
}

}  // namespace kvmeter::laws

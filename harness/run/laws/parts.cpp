// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/laws/parts.hpp"

#include <fmt/format.h>

#include <optional>
#include <string_view>

namespace kvmeter::laws {
namespace {

struct Most {
  std::string_view name;  // of the variable
  std::int64_t recorded;
  std::string_view why;
  std::optional<std::int64_t> most;  // none: anything
};

/// Of one token in one layer, K and V, scales included.
std::int64_t token_bytes(const CacheFacts& f) {
  return f.kv_heads * (f.head_dim * f.kv_bits / 8 + f.row_scales);
}

/// Sequences of whole blocks: all but one token of the last block of each may be empty.
std::optional<std::int64_t> most_rounding(const CacheFacts& f) {
  if (f.placement == "paged") return f.layers * f.batch * (f.block_tokens - 1) * token_bytes(f);
  if (f.placement == "ring" || f.placement == "virtual") return std::nullopt;
  return 0;
}

/// K and V of each layer, the buffer, a table and a list of copies of each group of layers.
std::int64_t most_allocator(const CacheFacts& f) {
  constexpr std::int64_t word = 8;
  return (word - 1) * (2 * f.layers + 2 + 2 * f.layers);
}

std::optional<std::int64_t> none_unless(bool may_be) {
  return may_be ? std::nullopt : std::optional<std::int64_t>(0);
}

std::vector<Most> bounds_of(const CacheFacts& f) {
  return {{"staging", f.staging, "layers are offloaded", none_unless(f.offload_layers > 0)},
          {"offloaded", f.offloaded, "layers are offloaded", none_unless(f.offload_layers > 0)},
          {"shared", f.shared, "a prefix is common", none_unless(f.shared_prefix > 0)},
          {"block_rounding", f.block_rounding, "last blocks are not full", most_rounding(f)},
          {"allocator", f.allocator, "allocations are whole words", most_allocator(f)}};
}

}  // namespace

std::vector<std::string> part_mistakes(const CacheFacts& facts) {
  std::vector<std::string> mistakes;
  const std::int64_t scales = facts.tokens * facts.kv_heads * facts.row_scales;
  if (facts.scale != scales)
    mistakes.push_back(
        fmt::format("cache_scale_bytes is {}; the scales of the rows are {}", facts.scale, scales));
  for (const Most& part : bounds_of(facts))
    if (part.most && part.recorded > *part.most)
      mistakes.push_back(fmt::format("cache_{}_bytes is {}; at most {}, as {}", part.name,
                                     part.recorded, *part.most, part.why));
  return mistakes;
}

}  // namespace kvmeter::laws

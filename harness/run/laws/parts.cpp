// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/laws/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
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

/// Of one row of K and V of all KV heads, scales included.
std::int64_t row_bytes(const CacheFacts& f) {
  return f.token_bytes() + f.kv_heads * f.row_extra;
}

/// Sequences of whole blocks: all but one token of the last block of each may be empty.
std::optional<std::int64_t> most_rounding(const CacheFacts& f) {
  if (f.placement == "paged") return f.layers * f.batch * (f.block_tokens - 1) * row_bytes(f);
  if (f.placement == "ring" || f.placement == "virtual") return std::nullopt;
  return 0;
}

/// K and V of each layer, the buffer, a table and a list of copies of each group of layers.
std::int64_t most_allocator(const CacheFacts& f) {
  constexpr std::int64_t word = 8;
  return (word - 1) * (2 * f.layers + 2 + 2 * f.layers);
}

/// An id, and a copy of three numbers, for each block that sequences can have.
std::optional<std::int64_t> most_tables(const CacheFacts& f) {
  constexpr std::int64_t entry = 4 + 12;
  if (f.placement == "none") return 0;
  if (f.placement == "ring") return std::nullopt;
  if (f.placement != "paged") return entry * f.batch;
  return entry * f.batch * ((f.tokens_at_end + f.block_tokens - 1) / f.block_tokens);
}

std::optional<std::int64_t> none_unless(bool may_be) {
  return may_be ? std::nullopt : std::optional<std::int64_t>(0);
}

std::vector<Most> bounds_of(const CacheFacts& f) {
  const bool has_room = f.may_end_early || f.placement == "ring" || f.shared_prefix > 0;
  return {{"staging", f.staging, "layers are offloaded", none_unless(f.offload_layers > 0)},
          {"offloaded", f.offloaded, "layers are offloaded", none_unless(f.offload_layers > 0)},
          {"shared", f.shared, "a prefix is common", none_unless(f.shared_prefix > 0)},
          {"reserve", f.reserve, "sequences have come to their ends", none_unless(has_room)},
          {"block_rounding", f.block_rounding, "last blocks are not full", most_rounding(f)},
          {"table", f.table, "so many blocks are led", most_tables(f)},
          {"allocator", f.allocator, "allocations are whole words", most_allocator(f)}};
}

/// What a cache keeps of a generation: everything, of what nobody ended early and no ring forgot.
void hold_tokens(const CacheFacts& f, std::vector<std::string>& mistakes) {
  if (f.placement == "none") {
    if (f.tokens != 0)
      mistakes.push_back(fmt::format("cache_tokens is {}; none are kept", f.tokens));
    return;
  }
  const bool bounded = f.placement == "ring" && f.window > 0;
  const std::int64_t each =
      bounded ? std::min(f.tokens_at_end, f.window + f.sinks) : f.tokens_at_end;
  const std::int64_t all = f.layers * f.batch * each;
  const bool fewer_allowed = f.may_end_early || f.placement == "ring";
  if (f.tokens > all || (f.tokens < all && !fewer_allowed) || f.tokens < f.layers * f.batch)
    mistakes.push_back(
        fmt::format("cache_tokens is {}; {} layers x {} sequences x {} tokens are {}", f.tokens,
                    f.layers, f.batch, each, all));
}

/// Of rows that sequences share there is one set of scales.
void hold_scales(const CacheFacts& f, std::vector<std::string>& mistakes) {
  const std::int64_t rows = f.tokens - f.shared / std::max<std::int64_t>(f.token_bytes(), 1);
  const std::int64_t scales = rows * f.kv_heads * f.row_extra;
  if (f.scale != scales)
    mistakes.push_back(
        fmt::format("cache_scale_bytes is {}; the scales of the rows are {}", f.scale, scales));
}

}  // namespace

std::vector<std::string> part_mistakes(const CacheFacts& facts) {
  std::vector<std::string> mistakes;
  hold_tokens(facts, mistakes);
  hold_scales(facts, mistakes);
  for (const Most& part : bounds_of(facts))
    if (part.most && part.recorded > *part.most)
      mistakes.push_back(fmt::format("cache_{}_bytes is {}; at most {}, as {}", part.name,
                                     part.recorded, *part.most, part.why));
  return mistakes;
}

}  // namespace kvmeter::laws

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// One layer's cache as kernels see it: a trivially copyable handle and the one function that turns
// a position into an address. Every placement comes down to blocks and a table of them.
#pragma once

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace kvmeter {

enum class CodecId : std::int32_t;  // enumerated by variants/codec/codecs.hpp

/// Rows of K or V that lie one after the other: positions first .. first + n_rows - 1 of one
/// sequence and head.
struct Run {
  std::int32_t first = 0;
  std::int32_t n_rows = 0;
  const std::byte* k = nullptr;  // row of position `first`
  const std::byte* v = nullptr;
};

/// What a codec needs to know of the rows of K or of V in a layer.
struct RowFormat {
  std::int32_t head_dim = 0;
  float scale = 1;  // that elements were divided by, for codecs that take one
};

struct LayerCache {
  std::byte* k = nullptr;                     // [n_blocks, n_kv_heads, block_tokens, k_row_bytes]
  std::byte* v = nullptr;                     // [n_blocks, n_kv_heads, block_tokens, v_row_bytes]
  const std::int32_t* block_table = nullptr;  // [batch, max_blocks] block ids
  std::int32_t max_blocks = 0;
  std::int32_t block_tokens = 0;
  std::int32_t n_kv_heads = 0;
  std::int32_t head_dim = 0;
  std::int32_t k_row_bytes = 0;
  std::int32_t v_row_bytes = 0;
  CodecId k_codec{};
  CodecId v_codec{};
  float k_scale = 1;
  float v_scale = 1;

  [[nodiscard]] KOKKOS_INLINE_FUNCTION RowFormat k_format() const { return {head_dim, k_scale}; }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION RowFormat v_format() const { return {head_dim, v_scale}; }

  /// Index of a block's first row of a head within a pool, in 64 bits: blocks x heads x tokens
  /// passes 2^31 early.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t first_row(std::int64_t block,
                                                              std::int32_t head) const {
    return (block * n_kv_heads + head) * block_tokens;
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t row_index(std::int32_t slot, std::int32_t head,
                                                              std::int32_t position) const {
    const std::int32_t block =
        block_table[std::int64_t{slot} * max_blocks + position / block_tokens];
    return first_row(block, head) + position % block_tokens;
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::byte* k_row(std::int32_t slot, std::int32_t head,
                                                        std::int32_t position) const {
    return k + row_index(slot, head, position) * k_row_bytes;
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::byte* v_row(std::int32_t slot, std::int32_t head,
                                                        std::int32_t position) const {
    return v + row_index(slot, head, position) * v_row_bytes;
  }

  /// The rows from `position` to the end of its block, but not past `end` and at most `most`.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION Run run(std::int32_t slot, std::int32_t head,
                                               std::int32_t position, std::int32_t end,
                                               std::int32_t most) const {
    const std::int64_t index = row_index(slot, head, position);
    std::int32_t n = block_tokens - position % block_tokens;
    n = n < end - position ? n : end - position;
    n = n < most ? n : most;
    return {position, n, k + index * k_row_bytes, v + index * v_row_bytes};
  }
};

static_assert(std::is_trivially_copyable_v<LayerCache>);

}  // namespace kvmeter

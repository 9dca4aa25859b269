// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What a sequence brings to a cache, and what the oracle makes of it.
#pragma once

#include <vector>

#include "tests/contract/all_variants.hpp"
#include "tests/oracle/attend.hpp"
#include "tests/support/random.hpp"

namespace kvmeter::test {

/// Rows of one sequence in one layer, all of them values that a float holds.
struct LayerRows {
  oracle::Matrix q;     // [tokens, n_heads * head_dim]
  oracle::Matrix k, v;  // [tokens, n_kv_heads * head_dim]
};
using SequenceRows = std::vector<LayerRows>;  // [n_layers]

/// `n_tokens` rows of normal values for every layer; q is scaled by `q_size`.
SequenceRows random_rows(Random& random, const CacheSpec& spec, std::int64_t n_tokens,
                         double q_size = 1);

/// Rows [first, first + n) of a matrix.
oracle::Matrix rows_of(const oracle::Matrix& matrix, std::int64_t first, std::int64_t n);

/// Output rows, and how far a cache's may be from them.
struct Reference {
  oracle::Matrix values, bounds;  // [n_tokens, n_heads * head_dim]
};

/// The oracle's outputs for the last n_tokens of the first n_stored rows. K and V are rounded as
/// the codecs' definitions say; for a codec that the oracle does not know, what the codec declares
/// of its errors widens the bounds instead.
Reference reference_of(const Combination& combination, const CacheSpec& spec, const LayerRows& rows,
                       std::int64_t n_stored, std::int64_t n_tokens, std::int64_t layer);

}  // namespace kvmeter::test

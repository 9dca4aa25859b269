// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Kernels that read a buffer as fast as they can and add up its words, so that nothing is optimised
// away:
//   sum = 0; for (i = 0; i < n_words; ++i) sum += words[i];
// On the host one index is one thread, which walks its part in one of several patterns with enough
// independent sums for the vector units; GCC -O3 turns the inner loops into vector loads. On a
// device one index is one pair of words.
//
// Tried and dropped: software prefetch 512 B to 8 KiB ahead gains nothing over the hardware's.
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>

#include "harness/exec/views.hpp"

namespace kvmeter::measure::detail {

struct Chunks {};
struct Interleaved {};
struct Streams {};
struct Coalesced {};

inline constexpr std::int64_t block_words = 8192;  // 64 KiB: what interleaved threads take in turn
inline constexpr std::int64_t part_words = 512;    // 4 KiB: a contiguous part is a multiple of it

/// Sum of n words with n_sums independent sums. \pre n a multiple of n_sums
KOKKOS_INLINE_FUNCTION std::uint64_t sum_words(const std::uint64_t* words, std::int64_t n) {
  constexpr int n_sums = 32;  // four cache lines, 8 vectors of 256 bits
  std::uint64_t sums[n_sums] = {};
  for (std::int64_t i = 0; i < n; i += n_sums)
    for (int j = 0; j < n_sums; ++j) sums[j] += words[i + j];
  for (int j = 1; j < n_sums; ++j) sums[0] += sums[j];
  return sums[0];
}

/// The same from n_streams places at once, a cache line of each in turn.
KOKKOS_INLINE_FUNCTION std::uint64_t sum_streams(const std::uint64_t* words, std::int64_t n) {
  constexpr int n_streams = 8;
  constexpr int line = 8;
  const std::int64_t length = n / n_streams;
  std::uint64_t sums[n_streams][line] = {};
  for (std::int64_t i = 0; i < length; i += line)
    for (int s = 0; s < n_streams; ++s)
      for (int j = 0; j < line; ++j) sums[s][j] += words[s * length + i + j];
  std::uint64_t sum = 0;
  for (int s = 0; s < n_streams; ++s)
    for (int j = 0; j < line; ++j) sum += sums[s][j];
  return sum;
}

template <class MemorySpace>
struct ReadWords {
  ConstArray1<std::uint64_t, MemorySpace> words;  // [n_words]
  std::int64_t n_words;                           // to read, a multiple of block_words
  std::int64_t n_workers;

  KOKKOS_FUNCTION void operator()(Chunks, std::int64_t worker, std::uint64_t& sum) const {
    const std::int64_t first = first_of(worker);
    sum += sum_words(words.data() + first, first_of(worker + 1) - first);
  }
  KOKKOS_FUNCTION void operator()(Interleaved, std::int64_t worker, std::uint64_t& sum) const {
    for (std::int64_t block = worker; block < n_words / block_words; block += n_workers)
      sum += sum_words(words.data() + block * block_words, block_words);
  }
  KOKKOS_FUNCTION void operator()(Streams, std::int64_t worker, std::uint64_t& sum) const {
    const std::int64_t first = first_of(worker);
    sum += sum_streams(words.data() + first, first_of(worker + 1) - first);
  }
  KOKKOS_FUNCTION void operator()(Coalesced, std::int64_t pair, std::uint64_t& sum) const {
    struct alignas(16) Pair {
      std::uint64_t a, b;
    };
    const Pair both = reinterpret_cast<const Pair*>(words.data())[pair];
    sum += both.a + both.b;
  }

  /// The first word of a worker's contiguous part.
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t first_of(std::int64_t worker) const {
    return n_words / part_words * worker / n_workers * part_words;
  }
};

/// Writes words, so that each has its page; threads share them out as they do in the pattern
/// chunks.
template <class MemorySpace>
struct FillWords {
  Array1<std::uint64_t, MemorySpace> words;  // [n_words]

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    words(i) = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15ULL;
  }
};

}  // namespace kvmeter::measure::detail

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The counter-based generator of random weights: value `index` of a stream depends on seed, role,
// layer and index alone. Hash: the finaliser of SplitMix64 (Steele, Lea, Flood 2014, "Fast
// splittable pseudorandom number generators", variant 13 of Stafford), two values from each 64
// bits.
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kvmeter::detail {

constexpr std::uint64_t golden_gamma = 0x9e3779b97f4a7c15ULL;

KOKKOS_INLINE_FUNCTION constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

/// Start of the stream number `id` of `seed`.
constexpr std::uint64_t random_stream(std::uint64_t seed, std::uint64_t id) {
  return mix(mix(seed + golden_gamma) ^ (id * golden_gamma));
}

/// The 64 bits of values 2 pair (lower half) and 2 pair + 1 (upper half).
KOKKOS_INLINE_FUNCTION std::uint64_t random_pair(std::uint64_t stream, std::uint64_t pair) {
  return mix(stream + (pair + 1) * golden_gamma);
}

/// An odd multiple of `unit` below 2^24 in magnitude: uniform, symmetric about zero, never zero.
/// One rounding, so every back end computes the same float.
KOKKOS_INLINE_FUNCTION float random_value(std::uint32_t bits, float unit) {
  return static_cast<float>((static_cast<std::int32_t>(bits) >> 7) | 1) * unit;
}

}  // namespace kvmeter::detail

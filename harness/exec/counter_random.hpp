// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Random numbers as a pure function of a counter: the same on every back end, thread count and
// order. The finaliser of SplitMix64 (G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom
// number generators", 2014).
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kvmeter {

KOKKOS_INLINE_FUNCTION std::uint64_t splitmix64(std::uint64_t counter) {
  std::uint64_t z = (counter + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

/// Uniform in [0, 1), 53 bits.
KOKKOS_INLINE_FUNCTION double uniform01(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace kvmeter

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// A few floats that a kernel handles at once: 16 on the host, one per thread on a device. Kernels
// are written once over Pack<pack_width<Exec>>; on a device the lanes are the threads of a warp. In
// CUDA builds the host's packs are arrays, since nvcc takes no vector type in a function that a
// device might run: host back ends of such a build are for comparison, not for speed.
//
// Host packs are GCC/Clang vector types, which AVX-512 holds in one register and other instruction
// sets in several. GCC 12 turns conversions from 16 and 8 bit into a dozen shuffles, so those few
// are intrinsics, in the masked form: it takes the "undefined" operand of the plain ones for a
// mistake (GCC bug 105593).
#pragma once

#include <Kokkos_Core.hpp>

#include <cstring>
#include <utility>

#include "harness/exec/fp8.hpp"
#include "harness/exec/half.hpp"
#include "harness/exec/spaces.hpp"

#if defined(KVMETER_VECTOR_TYPES) && defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace kvmeter {

inline constexpr int host_pack_width = 16;

/// Floats per pack in kernels of this execution space.
template <class Exec>
inline constexpr int pack_width = is_host_exec<Exec> ? host_pack_width : 1;

/// Width floats in an array: what a device thread has one of, and hosts whose compiler has no
/// vector types 16.
template <int Width>
struct Pack {
  static constexpr int width = Width;
  float v[Width];

  KOKKOS_INLINE_FUNCTION static Pack splat(float x) {
    return each([=](int) { return x; });
  }
  template <class T>
  KOKKOS_INLINE_FUNCTION static Pack load(const T* p) {
    return each([=](int i) { return static_cast<float>(p[i]); });
  }
  /// The lower or upper four bits of each byte, less 8.
  KOKKOS_INLINE_FUNCTION static Pack load_nibbles(const std::uint8_t* p, bool upper) {
    return each([=](int i) { return static_cast<float>((upper ? p[i] >> 4 : p[i] & 15) - 8); });
  }
  KOKKOS_INLINE_FUNCTION void store(float* p) const {
    for (int i = 0; i < Width; ++i) p[i] = v[i];
  }
  KOKKOS_INLINE_FUNCTION friend Pack operator+(Pack a, Pack b) {
    return each([=](int i) { return a.v[i] + b.v[i]; });
  }
  KOKKOS_INLINE_FUNCTION friend Pack operator-(Pack a, Pack b) {
    return each([=](int i) { return a.v[i] - b.v[i]; });
  }
  KOKKOS_INLINE_FUNCTION friend Pack operator*(Pack a, Pack b) {
    return each([=](int i) { return a.v[i] * b.v[i]; });
  }
  KOKKOS_INLINE_FUNCTION friend Pack operator/(Pack a, Pack b) {
    return each([=](int i) { return a.v[i] / b.v[i]; });
  }
  KOKKOS_INLINE_FUNCTION friend Pack max(Pack a, Pack b) {
    return each([=](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
  }
  KOKKOS_INLINE_FUNCTION friend Pack exp(Pack a) {
    return each([=](int i) { return Kokkos::exp(a.v[i]); });
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION float sum() const {
    float total = v[0];
    for (int i = 1; i < Width; ++i) total += v[i];
    return total;
  }
  /// Lane i: the sum of rows[i][0 .. Width), from left to right.
  KOKKOS_INLINE_FUNCTION static Pack sums_of(const float* rows) {
    return each([=](int i) {
      float total = rows[i * Width];
      for (int c = 1; c < Width; ++c) total += rows[i * Width + c];
      return total;
    });
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION float highest() const {
    float most = v[0];
    for (int i = 1; i < Width; ++i) most = v[i] > most ? v[i] : most;
    return most;
  }

 private:
  template <class Function>
  KOKKOS_INLINE_FUNCTION static Pack each(const Function& function) {
    Pack r;
    for (int i = 0; i < Width; ++i) r.v[i] = function(i);
    return r;
  }
};

#if defined(KVMETER_VECTOR_TYPES)
/// Sixteen floats: one AVX-512 register.
template <>
struct Pack<host_pack_width> {
  static constexpr int width = host_pack_width;
  using Floats = float __attribute__((vector_size(64)));
  using Ints = std::int32_t __attribute__((vector_size(64)));
  using Words = std::uint32_t __attribute__((vector_size(64)));
  static constexpr unsigned short all_lanes = 0xffff;
  Floats v;

  static Pack splat(float x) { return {x - Floats{}}; }
  static Pack load(const float* p) {
    Pack r;
    std::memcpy(&r.v, p, sizeof r.v);
    return r;
  }
  static Pack load(const BF16* p) {
#if defined(__AVX512F__)
    const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return {reinterpret_cast<Floats>(
        _mm512_maskz_slli_epi32(all_lanes, _mm512_maskz_cvtepu16_epi32(all_lanes, half), 16))};
#else
    return load_each(p);
#endif
  }
  static Pack load(const F16* p) {
#if defined(__AVX512F__)
    const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return {reinterpret_cast<Floats>(_mm512_maskz_cvtph_ps(all_lanes, half))};
#else
    return load_each(p);
#endif
  }
  static Pack load(const std::int8_t* p) {
#if defined(__AVX512F__)
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return from(_mm512_maskz_cvtepi8_epi32(all_lanes, bytes));
#else
    return load_each(p);
#endif
  }
  static Pack load(const FP8E4M3* p) {
#if defined(__AVX512F__)
    const Ints bytes = widened(p);
    const Floats power = splat(0x1p120F).v;
    const Floats magnitude = reinterpret_cast<Floats>((bytes & 0x7f) << 20) * power;
    const Ints sign = (bytes & 0x80) << 24;
    const Ints nan = ((bytes & 0x7f) == 0x7f) & 0x7fc00000;
    return {reinterpret_cast<Floats>(reinterpret_cast<Ints>(magnitude) | sign | nan)};
#else
    return load_each(p);
#endif
  }
  static Pack load_nibbles(const std::uint8_t* p, bool upper) {
#if defined(__AVX512F__)
    const Ints bytes = widened(p);
    const Ints nibbles = upper ? bytes >> 4 : bytes & 15;
    return from(reinterpret_cast<__m512i>(nibbles - 8));
#else
    Pack r;
    for (int i = 0; i < width; ++i)
      r.v[i] = static_cast<float>((upper ? p[i] >> 4 : p[i] & 15) - 8);
    return r;
#endif
  }
  void store(float* p) const {
    std::memcpy(p, &v, sizeof v);
  }

  friend Pack operator+(Pack a, Pack b) {
    return {a.v + b.v};
  }
  friend Pack operator-(Pack a, Pack b) {
    return {a.v - b.v};
  }
  friend Pack operator*(Pack a, Pack b) {
    return {a.v * b.v};
  }
  friend Pack operator/(Pack a, Pack b) {
    return {a.v / b.v};
  }
  friend Pack max(Pack a, Pack b) {
    return {a.v > b.v ? a.v : b.v};
  }

  /// e^a: range reduction by ln 2 in two parts and the polynomial of Cephes' expf (Moshier, 1992);
  /// relative error below 2e-7. Below -87 the result is 0, which is what masked scores need; above
  /// 88 infinity is never asked for, since softmax subtracts the maximum. A NaN stays one.
  friend Pack exp(Pack a) {
    const Floats lowest = splat(-87.0F).v;
    const Floats round_magic = splat(12582912.0F).v;  // 1.5 x 2^23: adding it rounds to an integer
    const Floats x = a.v < lowest ? lowest : a.v;
    const Floats shifted = x * 1.44269504088896341F + round_magic;
    const Floats n = shifted - round_magic;
    const Floats r = (x - n * 0.693359375F) - n * -2.12194440e-4F;
    Floats p = splat(1.9875691500e-4F).v;
    p = p * r + 1.3981999507e-3F;
    p = p * r + 8.3334519073e-3F;
    p = p * r + 4.1665795894e-2F;
    p = p * r + 1.6666665459e-1F;
    p = p * r + 5.0000001201e-1F;
    p = p * r * r + r + 1.0F;
    const Words exponent = reinterpret_cast<Words>(shifted) << 23;  // the magic's own bits go
    const auto below = reinterpret_cast<Words>(a.v < lowest);       // all ones where it holds
    const auto nan = reinterpret_cast<Words>(a.v != a.v) & 0x7fc00000U;
    return {reinterpret_cast<Floats>(((reinterpret_cast<Words>(p) + exponent) & ~below) | nan)};
  }

  [[nodiscard]] float sum() const {
    return halve(v, [](auto a, auto b) { return a + b; });
  }
  [[nodiscard]] float highest() const {
    return halve(v, [](auto a, auto b) { return a > b ? a : b; });
  }

  /// Lane i: the sum of rows[i][0 .. 16), from left to right.
  static Pack sums_of(const float* rows) {
    Floats columns[width];
    for (int i = 0; i < width; ++i) columns[i] = load(rows + i * width).v;
    exchange<1>(columns);
    exchange<2>(columns);
    exchange<4>(columns);
    exchange<8>(columns);
    Floats total = columns[0];
    for (int c = 1; c < width; ++c) total += columns[c];
    return {total};
  }

 private:
  /// One step of a 16 x 16 transposition: bit `Bit` of the row number changes places with that of
  /// the lane.
  template <int Bit>
  static void exchange(Floats (&v)[width]) {
    for (int i = 0; i < width; ++i)
      if ((i & Bit) == 0) exchange<Bit>(v[i], v[i + Bit], std::make_integer_sequence<int, width>());
  }
  template <int Bit, int... Lane>
  static void exchange(Floats& a, Floats& b, std::integer_sequence<int, Lane...> /*lanes*/) {
    const Floats upper = a;
    a = __builtin_shufflevector(upper, b, ((Lane & Bit) != 0 ? width + Lane - Bit : Lane)...);
    b = __builtin_shufflevector(upper, b, ((Lane & Bit) != 0 ? width + Lane : Lane + Bit)...);
  }

#if defined(__AVX512F__)
  /// Sixteen bytes as integers from 0.
  static Ints widened(const void* p) {
    const __m128i bytes = _mm_loadu_si128(static_cast<const __m128i*>(p));
    return reinterpret_cast<Ints>(_mm512_maskz_cvtepu8_epi32(all_lanes, bytes));
  }
  static Pack from(__m512i integers) {
    return {reinterpret_cast<Floats>(_mm512_maskz_cvtepi32_ps(all_lanes, integers))};
  }
#else
  template <class T>
  static Pack load_each(const T* p) {
    Pack r;
    for (int i = 0; i < width; ++i) r.v[i] = static_cast<float>(p[i]);
    return r;
  }
#endif

  /// Joins upper and lower halves with `join` until one float is left: the order of a tree, on
  /// every machine.
  template <class Join>
  static float halve(Floats all, const Join& join) {
    using Eight = float __attribute__((vector_size(32)));
    using Four = float __attribute__((vector_size(16)));
    Eight eight[2];
    std::memcpy(&eight, &all, sizeof eight);
    const Eight joined8 = join(eight[0], eight[1]);
    Four four[2];
    std::memcpy(&four, &joined8, sizeof four);
    const Four joined4 = join(four[0], four[1]);
    return join(join(joined4[0], joined4[2]), join(joined4[1], joined4[3]));
  }
};
#endif

/// The least multiple of a pack's width that holds n floats: rows in scratch are padded to it with
/// zeros.
template <class Exec>
KOKKOS_INLINE_FUNCTION constexpr int padded(int n) {
  return (n + pack_width<Exec> - 1) / pack_width<Exec> * pack_width<Exec>;
}

}  // namespace kvmeter

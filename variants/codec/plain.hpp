// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// A codec that stores each element on its own in a storage type: f32, f16, bf16 are this with a
// type. What a codec must supply is what stands here.
#pragma once

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

#include "harness/cache/layer_cache.hpp"
#include "harness/exec/half.hpp"
#include "harness/exec/pack.hpp"

namespace kvmeter::codec {

/// The largest finite element of a storage type.
template <class Storage>
inline constexpr float largest_element = Kokkos::Experimental::finite_max_v<float>;
template <>
inline constexpr float largest_element<F16> = 65504.0F;
template <>
inline constexpr float largest_element<BF16> = 0x1.fep127F;

template <class Storage>
struct Plain {
  /// Bytes of a row of head_dim elements, and how many of them are scales and the like.
  KOKKOS_INLINE_FUNCTION static std::int32_t row_bytes(std::int32_t head_dim) {
    return head_dim * static_cast<std::int32_t>(sizeof(Storage));
  }
  KOKKOS_INLINE_FUNCTION static std::int32_t metadata_bytes(std::int32_t) { return 0; }

  /// |decoded - x| <= relative_error |x| + largest_error (largest |x| of the row) + absolute_error,
  /// for x in range; each codec declares the other two.
  static constexpr double largest_error = 0;

  /// Stores row[0 .. head_dim), rounded to nearest even; what is out of range becomes the largest
  /// element.
  KOKKOS_INLINE_FUNCTION static void encode_row(const float* row, const RowFormat& format,
                                                std::byte* out) {
    auto* elements = reinterpret_cast<Storage*>(out);
    for (std::int32_t i = 0; i < format.head_dim; ++i)
      elements[i] = round_to<Storage>(saturate(row[i]));
  }

  /// A NaN stays one.
  KOKKOS_INLINE_FUNCTION static float saturate(float x) {
    constexpr float most = largest_element<Storage>;
    return x > most ? most : x < -most ? -most : x;
  }

  /// Elements first .. first + Width - 1, all inside the row; `first` is a multiple of Width.
  template <int Width>
  KOKKOS_INLINE_FUNCTION static Pack<Width> load(const std::byte* row, std::int32_t first,
                                                 const RowFormat& /*format*/) {
    return Pack<Width>::load(reinterpret_cast<const Storage*>(row) + first);
  }
};

/// Element i of a stored row.
template <class Codec>
KOKKOS_INLINE_FUNCTION float load_element(const std::byte* row, std::int32_t i,
                                          const RowFormat& format) {
  return Codec::template load<1>(row, i, format).sum();
}

/// Elements first .. first + Width - 1 of a stored row, zeros past its end.
template <class Codec, int Width>
KOKKOS_INLINE_FUNCTION Pack<Width> load_padded(const std::byte* row, std::int32_t first,
                                               const RowFormat& format) {
  if (first + Width <= format.head_dim) return Codec::template load<Width>(row, first, format);
  float part[Width] = {};
  for (std::int32_t i = 0; first + i < format.head_dim; ++i)
    part[i] = load_element<Codec>(row, first + i, format);
  return Pack<Width>::load(part);
}

}  // namespace kvmeter::codec

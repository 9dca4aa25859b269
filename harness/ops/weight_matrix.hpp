// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// A weight matrix whose element type is known at run time: row-major [out_dim, in_dim], held once
// and read by every kernel, many rows and few.
#pragma once

#include <type_traits>

#include "harness/core/enums.hpp"
#include "harness/exec/half.hpp"
#include "harness/exec/views.hpp"

namespace kvmeter {

constexpr std::int64_t bytes_of(Element element) {
  return element == Element::f32 ? 4 : 2;
}

template <class MemorySpace>
struct WeightMatrix {
  Element element = Element::f32;
  std::int64_t out_dim = 0;
  std::int64_t in_dim = 0;
  Array1<std::byte, MemorySpace> storage;  // [out_dim * in_dim * bytes_of(element)]

  [[nodiscard]] std::int64_t bytes() const { return out_dim * in_dim * bytes_of(element); }

  /// The matrix as a View [out_dim, in_dim] of its element type T, which must be `element`.
  template <class T>
  ConstArray2<T, MemorySpace> view() const {
    return {reinterpret_cast<const T*>(storage.data()), static_cast<std::size_t>(out_dim),
            static_cast<std::size_t>(in_dim)};
  }
};

template <class T>
struct ElementTag {
  using type = T;
};

/// Calls function(ElementTag<T>{}) with the storage type of `element`.
template <class Function>
decltype(auto) visit_element(Element element, Function&& function) {
  switch (element) {
    case Element::f16:
      return function(ElementTag<F16>{});
    case Element::bf16:
      return function(ElementTag<BF16>{});
    case Element::f32:
      break;
  }
  return function(ElementTag<float>{});
}

}  // namespace kvmeter

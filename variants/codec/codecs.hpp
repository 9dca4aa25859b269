// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// All codecs of the build, and the one place where a run-time codec becomes a type. It happens once
// per tile of rows, inside the kernel: with seven codecs for K and seven for V, a kernel per pair
// would be 49 kernels per attention and back end for no gain that a tile of 64 rows can show.
#pragma once

#include "harness/cache/layer_cache.hpp"
#include "variants/codec/includes.hpp"  // generated from codecs.def: one line per codec

namespace kvmeter {

enum class CodecId : std::int32_t {
#define KVMETER_CODEC(name, Type, help) name,
#include "variants/codec/codecs.def"
#undef KVMETER_CODEC
};

/// Calls function(Codec{}) with the type of `id`, which the registry has checked.
template <class Function>
KOKKOS_INLINE_FUNCTION void visit_codec(CodecId id, const Function& function) {
  switch (id) {
#define KVMETER_CODEC(name, Type, help) \
  case CodecId::name:                   \
    function(codec::Type{});            \
    break;
#include "variants/codec/codecs.def"
#undef KVMETER_CODEC
  }
}

}  // namespace kvmeter

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/laws/element_bits.hpp"

#include <catch2/catch_test_macros.hpp>

#include "harness/run/registry.hpp"

namespace kvmeter::run {
namespace {

TEST_CASE(
    "verify knows the bits of every codec and what rows have besides, and codecs store that many",
    "[run]") {
  for (std::size_t i = 0; i < codecs().size(); ++i) {
    CAPTURE(codecs()[i].name);
    const auto bits = laws::find_element_bits(codecs()[i].name);
    REQUIRE(bits.has_value());
    const auto codec = static_cast<CodecId>(i);
    for (std::int64_t head_dim = 1; head_dim <= 200; ++head_dim) {
      if (codec == CodecId::int4 && head_dim % 2 != 0) continue;  // refused
      CAPTURE(head_dim);
      CHECK(8 * (row_bytes(codec, head_dim) - row_metadata_bytes(codec, head_dim)) ==
            head_dim * *bits);
      CHECK(row_metadata_bytes(codec, head_dim) ==
            laws::row_extra_bytes(codecs()[i].name, head_dim));
    }
  }
}

}  // namespace
}  // namespace kvmeter::run

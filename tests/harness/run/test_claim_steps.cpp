// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <numeric>

#include "harness/run/claims.hpp"

namespace kvmeter::run {
namespace {

TEST_CASE("a prefill and one with a last step of one token are never the same steps", "[cpu]") {
  for (std::int64_t chunk = 2; chunk <= 9; ++chunk)
    for (std::int64_t n = 2; n <= 40; ++n) {
      CAPTURE(chunk, n);
      const auto prefill = prefill_steps(n, chunk);
      const auto decode = decode_steps(n, chunk);
      CHECK(prefill.back() > 1);
      CHECK(decode.back() == 1);
      for (const auto& steps : {prefill, decode}) {
        CHECK(std::accumulate(steps.begin(), steps.end(), std::int64_t{0}) == n);
        for (const std::int64_t step : steps) CHECK((step > 0 && step <= chunk));
      }
    }
}

}  // namespace
}  // namespace kvmeter::run

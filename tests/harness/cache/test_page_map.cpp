// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "variants/page_map.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <set>

#include "tests/support/random.hpp"

namespace kvmeter::test {
namespace {

TEST_CASE("Exactly the pages that rows touch are mapped, however stretches lie on pages") {
  const std::int64_t stretch_bytes = GENERATE(16, 100, 1024, 1000, 5000);
  constexpr std::int64_t page = 1024;
  constexpr std::int64_t n_stretches = 9;
  CAPTURE(stretch_bytes);
  Random random("pages");
  PageMap map(n_stretches, stretch_bytes, page);
  std::set<std::int64_t> mapped;
  std::vector<std::int64_t> used(n_stretches, 0);
  for (int i = 0; i < 300; ++i) {
    const std::int64_t stretch = random.between(0, n_stretches - 1);
    used[static_cast<std::size_t>(stretch)] = random.between(0, stretch_bytes);
    map.use(
        stretch, used[static_cast<std::size_t>(stretch)],
        [&](std::int64_t first, std::int64_t n) {
          for (std::int64_t p = first; p < first + n; ++p) CHECK(mapped.insert(p).second);
        },
        [&](std::int64_t first, std::int64_t n) {
          for (std::int64_t p = first; p < first + n; ++p) CHECK(mapped.erase(p) == 1);
        });
    std::set<std::int64_t> expected;
    for (std::int64_t s = 0; s < n_stretches; ++s)
      for (std::int64_t b = 0; b < used[static_cast<std::size_t>(s)]; ++b)
        expected.insert((s * stretch_bytes + b) / page);
    CHECK(mapped == expected);
    CHECK(map.mapped_bytes() == std::ssize(mapped) * page);
  }
}

}  // namespace
}  // namespace kvmeter::test

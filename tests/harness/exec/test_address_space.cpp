// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/address_space.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <utility>

#include "harness/core/error.hpp"
#include "harness/exec/ledger.hpp"
#include "harness/exec/memory.hpp"

namespace kvmeter {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr const char* label = "kvmeter::test::mapped";

TEST_CASE("Address space costs nothing until pages are mapped, and gives them back") {
  const std::int64_t page = AddressSpace::page_bytes();
  const std::int64_t before = ledger().live_bytes(label);
  const std::int64_t rss = rss_bytes().value();
  {
    AddressSpace space(label, std::int64_t{1} << 40);  // a TiB
    CHECK(ledger().live_bytes(label) == before);
    space.map(10, 5000);
    CHECK(space.mapped_bytes() == 5000 * page);
    CHECK(ledger().live_bytes(label) - before == 5000 * page);
    CHECK(rss_bytes().value() - rss >= 4900 * page);
    space.data()[10 * page] = std::byte{3};
    space.unmap(20, 4990);
    CHECK(ledger().live_bytes(label) - before == 10 * page);
    CHECK(rss_bytes().value() - rss <= 200 * page);
    CHECK(space.data()[10 * page] == std::byte{3});
    space.map(20, 1);
    CHECK(space.data()[20 * page] == std::byte{0});  // new memory
    const AddressSpace moved = std::move(space);
    CHECK(moved.mapped_bytes() == 11 * page);
    CHECK(ledger().live_bytes(label) - before == 11 * page);
  }
  CHECK(ledger().live_bytes(label) == before);
}

TEST_CASE("Address space that is not there is refused with label and bytes") {
  CHECK_THROWS_AS(AddressSpace(label, std::int64_t{1} << 60), OutOfMemoryError);
  CHECK_THROWS_WITH(AddressSpace(label, std::int64_t{1} << 60),
                    ContainsSubstring(label) && ContainsSubstring("1152921504606846976 bytes"));
}

}  // namespace
}  // namespace kvmeter

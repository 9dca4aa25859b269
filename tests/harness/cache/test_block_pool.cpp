// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cache/block_pool.hpp"

#include <catch2/catch_test_macros.hpp>
#include <map>

#include "tests/support/random.hpp"

namespace kvmeter::test {
namespace {

TEST_CASE("Blocks are handed out once, the lowest first, and come back when nobody owns them") {
  BlockPool pool(3);
  CHECK(pool.take() == 0);
  CHECK(pool.take() == 1);
  pool.share(0);
  CHECK(pool.owners(0) == 2);
  pool.release(0);
  CHECK(pool.n_free() == 1);
  pool.release(0);
  CHECK(pool.n_free() == 2);
  CHECK(pool.take() == 0);
  CHECK(pool.take() == 2);
  CHECK_THROWS_AS(pool.take(), Error);
  CHECK(pool.size() == 3);
}

TEST_CASE("Whatever is taken, shared and released, owners and free blocks add up") {
  Random random("pool");
  BlockPool pool(20);
  std::map<std::int32_t, std::int32_t> owners;
  for (int i = 0; i < 2000; ++i) {
    const std::int64_t what = random.between(0, 2);
    if (what == 0 && pool.n_free() > 0) {
      const std::int32_t id = pool.take();
      CHECK(owners[id] == 0);
      owners[id] = 1;
    } else {
      const auto id = static_cast<std::int32_t>(random.between(0, 19));
      if (owners[id] == 0) continue;
      what == 1 ? pool.share(id) : pool.release(id);
      owners[id] += what == 1 ? 1 : -1;
    }
    std::int64_t n_free = 0;
    for (std::int32_t id = 0; id < 20; ++id) {
      CHECK(pool.owners(id) == owners[id]);
      n_free += owners[id] == 0 ? 1 : 0;
    }
    CHECK(pool.n_free() == n_free);
  }
}

}  // namespace
}  // namespace kvmeter::test

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// From a position to an address, where 32 bits are not enough.
#include "harness/cache/layer_cache.hpp"

#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "harness/exec/address_space.hpp"

namespace kvmeter::test {
namespace {

TEST_CASE("Block ids past 65,535 and offsets past 2^31 lead where they should") {
  const std::int64_t n_blocks = 80000;
  LayerCache cache;
  cache.n_kv_heads = 8;
  cache.head_dim = 128;
  cache.block_tokens = 16;
  cache.k_row_bytes = 512;
  cache.v_row_bytes = 256;
  cache.max_blocks = 3;
  const std::vector<std::int32_t> table{5, 65536, 79999, 0, 65535, 70000};
  cache.block_table = table.data();
  const AddressSpace k("kvmeter::test::k", n_blocks * 8 * 16 * 512);
  const AddressSpace v("kvmeter::test::v", n_blocks * 8 * 16 * 256);
  cache.k = k.data();
  cache.v = v.data();
  for (const std::int32_t slot : {0, 1})
    for (const std::int32_t position : {0, 15, 16, 31, 32, 47})
      for (const std::int32_t head : {0, 7}) {
        CAPTURE(slot, position, head);
        const std::int64_t block = table[static_cast<std::size_t>(slot * 3 + position / 16)];
        const std::int64_t row = (block * 8 + head) * 16 + position % 16;
        CHECK(cache.first_row(block, head) == row - position % 16);
        CHECK(cache.k_row(slot, head, position) - k.data() == row * 512);
        CHECK(cache.v_row(slot, head, position) - v.data() == row * 256);
        const Run run = cache.run(slot, head, position, 48, 48);
        CHECK(run.k - k.data() == row * 512);
        CHECK(run.v - v.data() == row * 256);
        CHECK(run.n_rows == 16 - position % 16);
      }
  // The last row of all can be written: it lies 5.2 GB behind the first.
  k.data()[n_blocks * 8 * 16 * 512 - 1] = std::byte{7};
  CHECK(cache.k_row(0, 7, 47)[511] == std::byte{7});
}

TEST_CASE("A run ends with its block, the positions asked for, and the most that is taken") {
  LayerCache cache;
  cache.n_kv_heads = 1;
  cache.head_dim = 4;
  cache.block_tokens = 10;
  cache.max_blocks = 2;
  const std::vector<std::int32_t> table{0, 1};
  cache.block_table = table.data();
  const AddressSpace rows("kvmeter::test::rows", 4096);
  cache.k = cache.v = rows.data();
  CHECK(cache.run(0, 0, 3, 20, 64).n_rows == 7);
  CHECK(cache.run(0, 0, 3, 8, 64).n_rows == 5);
  CHECK(cache.run(0, 0, 3, 8, 2).n_rows == 2);
  CHECK(cache.run(0, 0, 10, 20, 64).n_rows == 10);
}

}  // namespace
}  // namespace kvmeter::test

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Records that keep every law, to be spoiled one value at a time.
#pragma once

#include <cstdint>
#include <string>

#include "harness/core/record.hpp"

namespace kvmeter::test {

/// The shape of a made-up model, and what its cache has besides the formula's bytes.
struct Shape {
  std::int64_t layers = 4;
  std::int64_t kv_heads = 2;
  std::int64_t head_dim = 64;
  std::int64_t scale = 0;
  std::int64_t shared = 0;
  std::int64_t block_rounding = 0;
  std::int64_t reserve = 0;
  std::int64_t staging = 0;
  std::int64_t table = 16;
  std::int64_t allocator = 88;
};

/// An ok record of this point that keeps every law, resident memory included.
PointRecord lawful_record(const Point& point, const Shape& shape = {});

Point made_up_point(const std::string& cache, std::int64_t prompt_tokens, std::int64_t new_tokens);

/// Changes a whole number of a record by this much.
void spoil(PointRecord& record, const std::string& name, std::int64_t by = 1);

}  // namespace kvmeter::test

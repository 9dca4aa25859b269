// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What a kernel has to move and compute at the least, declared as a pure function of its sizes
// beside the kernel. Bytes count each operand once; caches may do better or worse, which is what a
// measurement shows.
#pragma once

#include <cstdint>

namespace kvmeter {

struct Cost {
  std::int64_t bytes_read = 0;
  std::int64_t bytes_written = 0;
  std::int64_t flops = 0;  // a multiply-add counts as two

  Cost& operator+=(const Cost& other) {
    bytes_read += other.bytes_read;
    bytes_written += other.bytes_written;
    flops += other.flops;
    return *this;
  }
  friend Cost operator+(Cost a, const Cost& b) { return a += b; }
  friend Cost operator*(std::int64_t n, Cost a) {
    return {n * a.bytes_read, n * a.bytes_written, n * a.flops};
  }
  bool operator==(const Cost&) const = default;
};

}  // namespace kvmeter

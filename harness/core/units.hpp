// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Quantities as people read them. Everything is stored in SI seconds and integers of bytes; scaling
// happens here, when printing.
#pragma once

#include <cstdint>
#include <string>

namespace kvmeter {

std::string format_bytes(std::int64_t bytes);      // "1.25 GiB"; exact below 1 KiB: "512 B"
std::string format_seconds(double seconds);        // "1.23 ms", "2 min 05 s"
std::string format_bandwidth(double bytes_per_s);  // "25.4 GB/s", powers of ten
std::string format_flop_rate(double flops_per_s);  // "412 GFLOP/s"
std::string format_count(std::int64_t count);      // "125,250"

}  // namespace kvmeter

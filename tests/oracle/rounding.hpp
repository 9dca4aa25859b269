// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What storing a number in fewer bits does to it: hooks for the oracle's cache.
#pragma once

#include <functional>
#include <span>
#include <string_view>

namespace kvmeter::oracle {

/// Rounds one row in place: K (after RoPE) or V of one token and one KV head, [head_dim].
using Rounding = std::function<void(std::span<double>)>;

/// To nearest, ties to even, with `digits` significant binary digits, of which fewer remain below
/// 2^least_exponent, the least normal number; beyond +-largest it saturates.
double round_binary(double x, int digits, int least_exponent, double largest);

double round_f32(double x);
double round_f16(double x);
double round_bf16(double x);
double round_fp8_e4m3(double x);

/// The rounding of a cache element by its name: "none" (stays double), "f32", "f16", "bf16",
/// "fp8_e4m3"; "int8", "int4" (groups of 32 with an f16 scale, 127 and 7 levels a side), "int8_row"
/// (one f32 scale a row). Throws on another name.
Rounding rounding_of(std::string_view element);

}  // namespace kvmeter::oracle

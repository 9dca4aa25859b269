// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// How a law ended for one point or family.
#pragma once

#include <string_view>

namespace kvmeter::laws {

enum class Verdict { none, holds, fails };  // none: shown, but no law

constexpr Verdict verdict_of(bool holds) {
  return holds ? Verdict::holds : Verdict::fails;
}

constexpr std::string_view word_of(Verdict verdict) {
  if (verdict == Verdict::none) return "-";
  return verdict == Verdict::holds ? "holds" : "FAILS";
}

}  // namespace kvmeter::laws

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The law of resident memory: the operating system gives what the ledger counts, within 1 %, where
// the cache is large against pages and whatever else the process allocates meanwhile.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/run/laws/cache_facts.hpp"
#include "harness/run/laws/verdict.hpp"

namespace kvmeter::laws {

inline constexpr std::int64_t resident_shown_bytes = std::int64_t{64} << 20;  // from here on
inline constexpr std::int64_t resident_law_bytes = std::int64_t{256} << 20;
inline constexpr double resident_tolerance = 0.01;

struct Resident {
  double ratio = 0;  // resident memory / ledger
  Verdict verdict = Verdict::none;
};

/// Nothing for small caches, on a device, and where it was not measured.
std::optional<Resident> resident_memory(const CacheFacts& facts);

}  // namespace kvmeter::laws

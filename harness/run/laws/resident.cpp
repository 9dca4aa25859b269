// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/laws/resident.hpp"

#include <cmath>

namespace kvmeter::laws {

std::optional<Resident> resident_memory(const CacheFacts& facts) {
  if (!facts.resident || facts.ledger < resident_shown_bytes) return std::nullopt;
  const double ratio = static_cast<double>(*facts.resident) / static_cast<double>(facts.ledger);
  // Of address space the system counts the pages that were touched, which nothing here predicts.
  const bool is_law = facts.allocated >= resident_law_bytes && facts.placement != "virtual";
  if (!is_law) return Resident{ratio, Verdict::none};
  return Resident{ratio, verdict_of(std::abs(ratio - 1) <= resident_tolerance)};
}

}  // namespace kvmeter::laws

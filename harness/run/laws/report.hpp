// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// All laws held against all points of a file, and what came of it as text and as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/core/record.hpp"
#include "harness/run/laws/cache_facts.hpp"
#include "harness/run/laws/claims.hpp"
#include "harness/run/laws/factors.hpp"
#include "harness/run/laws/projections.hpp"
#include "harness/run/laws/resident.hpp"
#include "harness/run/laws/verdict.hpp"

namespace kvmeter::laws {

/// One ok point.
struct PointReport {
  std::string spelling;             // of the keys that differ in the file
  std::optional<CacheFacts> facts;  // none where the record lacks some of them
  Verdict bytes = Verdict::none;
  std::optional<Resident> resident;
  std::int64_t layers = 0;
  std::int64_t tokens_at_end = 0;
  std::optional<std::int64_t> projections;           // counted, over layers and batch
  std::optional<std::int64_t> expected_projections;  // none where it may have ended early
  Verdict work = Verdict::none;
  Claims claims;
};

struct Unmeasured {
  std::string spelling;
  std::string status;
  std::string message;
};

struct GrowthReport {
  std::string spelling;  // without new_tokens
  Growth growth;
};

struct Report {
  std::vector<PointReport> points;
  std::vector<Family> families;
  std::vector<GrowthReport> growth;
  std::vector<Unmeasured> unmeasured;
  std::vector<std::string> broken;  // a line each: law, point, numbers

  [[nodiscard]] bool holds() const { return broken.empty() && !points.empty(); }
};

Report hold_against_laws(std::span<const PointRecord> records);

/// Aligned tables; bytes as people read them.
std::string text_of(const Report& report);

/// Everything to the byte.
std::string json_of(const Report& report);

}  // namespace kvmeter::laws

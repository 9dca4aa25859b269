// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Checkpoints with what another implementation computes for them: those in tests/fixtures, and
// those in oracle/ of the folder that the environment variable KVMETER_SHARED names, if it is set.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

namespace kvmeter::test {

struct ReferenceCase {
  std::string name;
  std::filesystem::path folder;  // config.json, weights, expected.safetensors
};
std::ostream& operator<<(std::ostream& out, const ReferenceCase& reference);

/// All cases, in the order of their names; throws where tests/fixtures holds none.
std::vector<ReferenceCase> reference_cases();

/// expected.safetensors of a case.
struct Expected {
  std::int64_t batch = 0, prompt = 0, vocab = 0, n_new = 0;
  std::vector<std::int64_t> input_ids;  // [batch, prompt]
  std::vector<double> logits;           // [batch, prompt, vocab]
  std::vector<std::int64_t> generated;  // [batch, n_new] greedy
  std::vector<double> step_logits;      // [batch, n_new, vocab] what each was chosen from
  std::vector<double> nll;              // [batch, prompt - 1] nats; empty where not given

  [[nodiscard]] std::span<const std::int64_t> prompt_of(std::int64_t sequence) const;
  [[nodiscard]] std::span<const double> logits_of(std::int64_t sequence) const;
  [[nodiscard]] std::span<const std::int64_t> generated_of(std::int64_t sequence) const;
  [[nodiscard]] std::span<const double> step_logits_of(std::int64_t sequence) const;
  [[nodiscard]] std::span<const double> nll_of(std::int64_t sequence) const;
};
Expected read_expected(const std::filesystem::path& folder);

}  // namespace kvmeter::test

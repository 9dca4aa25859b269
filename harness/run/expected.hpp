// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What another implementation computed for a checkpoint, and how far a decoder of ours is from it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/run/setup.hpp"

namespace kvmeter::run {

/// Tensors of an expected file; empty where it has none. B = batch, P = prompt, N = new tokens, V =
/// vocabulary.
struct Expected {
  std::string file;  // for messages
  std::int64_t batch = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t new_tokens = 0;
  std::int64_t vocab_size = 0;  // of logits or step_logits; 0: neither is there
  std::vector<std::vector<std::int32_t>> input_ids;  // [B, P]
  std::vector<std::vector<std::int32_t>> generated;  // [B, N] greedy
  std::vector<float> logits;                         // [B, P, V]
  std::vector<float> step_logits;                    // [B, N, V] that generated was chosen from
  std::vector<float> nll;                            // [B, P - 1] nats
};

/// Throws Error that names file and tensor where shapes do not fit together.
Expected read_expected(const std::filesystem::path& file);

/// Differences of one tensor.
struct Difference {
  std::string what;    // "logits", "nll", ...
  double worst = 0;    // largest |ours - theirs|
  double scale = 1;    // what the bound is relative to: the largest |logit|
  double bound = 0;    // of worst
  double mean = 0;     // of ours - theirs
  std::string where;   // of the worst
  bool judged = true;  // else shown only
  [[nodiscard]] bool passed() const { return !judged || worst <= bound; }
};

/// Runs the prompts in one prefill (logits of every position) and again with decode steps along the
/// expected tokens. \param tolerance of logits, relative to the largest |logit|
std::vector<Difference> compare_with_expected(const Setup& setup, const Expected& expected,
                                              double tolerance);

}  // namespace kvmeter::run

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What each command of the program does, as functions that return the exit code: 0 all well, 2
// finished with points that failed, 3 a check says no. They throw UsageError for exit code 1.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/workload/sweep.hpp"

namespace kvmeter::run {

struct RunOptions {
  std::filesystem::path output;
  bool fresh = false;      // do not reuse journaled points
  bool fail_fast = false;  // stop at the first point that fails
  std::string command_line;
};

struct CheckOptions {
  Point point;  // model (a folder), cache, elements, attention, backend, threads
  std::filesystem::path expected;
  std::optional<double>
      tolerance;  // of logits, relative to max |logit|; default from the cache elements
  bool json = false;
};

struct PeakOptions {
  std::string model = "reference-1.1b";  // its shapes are what the matmul rate is measured at
  std::int64_t threads = 0;
  bool json = false;
};

struct SizeOptions {
  Point point;                  // model; its window, elements, cache, batch, ...
  std::int64_t n_kv_heads = 0;  // where the model is empty: with point.n_layers the shape
  std::int64_t head_dim = 0;
  std::int64_t tokens = 0;  // of each sequence
  bool json = false;
};

/// The value check for sweeps: models, placements, codecs, attentions, back ends of this build.
ValueCheck value_check();

int list(const std::string& what);  // "" | models | placements | codecs | attention | backends
int size(const SizeOptions& options);
int plan(const Sweep& sweep, bool json);
int run(const Sweep& sweep, const RunOptions& options);
int merge(const std::filesystem::path& output, const std::vector<std::filesystem::path>& journals);
int verify(const std::filesystem::path& file, bool json);
int check(const CheckOptions& options);
int peak(const PeakOptions& options);

}  // namespace kvmeter::run

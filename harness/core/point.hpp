// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// A point of a sweep: one value for every key, and the table of keys from which the sweep reader,
// the flags, the help texts and the result variables are made. A new key is a member and a row.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace kvmeter {

/// What to measure: one combination of the values of a sweep, as requested.
struct Point {
  std::string model;                     // name of workloads/models/ or models/, or a folder
  std::string weights = "random";        // random | checkpoint
  std::string weight_element = "model";  // model | f32 | f16 | bf16
  std::string kv_heads = "model";        // model | mha | mqa | a number
  std::int64_t n_layers = 0;             // 0: the model's
  bool tie_layers = false;               // all layers share one layer's weights
  std::string cache = "contiguous";      // a placement
  std::string k_element = "f16";         // a codec
  std::string v_element = "f16";
  std::string fp8_scale = "none";   // none | layer: a scale per layer for fp8 elements
  std::int64_t block_tokens = 16;   // of a block of a paged cache
  std::int64_t window_tokens = 0;   // keys a query sees, its own included; 0: the model's
  std::int64_t sink_tokens = 0;     // first keys that a window always sees besides
  std::int64_t offload_layers = 0;  // last layers whose cache lives in a second memory space
  std::int64_t shared_prefix_tokens =
      0;                             // beginning that all sequences of the batch have in common
  std::string attention = "online";  // an attention
  std::string backend = "openmp";    // serial | openmp | cuda
  std::int64_t threads = 0;          // 0: all
  std::int64_t batch = 1;            // sequences
  std::int64_t prompt_tokens = 128;  // per sequence
  std::int64_t new_tokens = 32;      // generated per sequence, the first comes from the prefill
  std::string prefill = "compute";   // compute | synthetic
  std::int64_t prefill_chunk = 0;    // prompt tokens of a sequence per step; 0: all
  std::string text;                  // token ids to take prompts from; empty: made up
  std::string sampling = "greedy";   // greedy | temperature
  double temperature = 1.0;
  std::int64_t top_k = 0;   // 0: off
  double top_p = 1.0;       // 1: off
  bool ignore_eos = true;   // generate new_tokens whatever the model says
  std::int64_t repeat = 0;  // a label: an axis of it repeats points

  bool operator==(const Point&) const = default;
};

using PointField =
    std::variant<std::string Point::*, std::int64_t Point::*, double Point::*, bool Point::*>;
using PointValue = std::variant<std::string, std::int64_t, double, bool>;

/// One key of a point: everything that a reader, a flag, a help text and a file need to know of it.
struct PointKey {
  std::string_view name;
  std::string_view group;  // heading in help texts
  PointField field;
  std::string_view values;  // what is allowed, in words, for help and messages
  std::string_view help;
  double least = 0;  // of numbers; ignored for strings and booleans
  double most = 9.2e18;
};

/// All keys, in the order of help texts, canonical spellings and files.
std::span<const PointKey> point_keys();

std::vector<std::string_view> point_key_names();

/// The key of this name, or nullptr.
const PointKey* find_point_key(std::string_view name);

PointValue get(const Point& point, const PointKey& key);

/// Sets a key; throws UsageError naming key, value and what is allowed on a wrong type or range.
void set(Point& point, const PointKey& key, const PointValue& value);

/// Sets a key from text, as flags give it.
void set_from_text(Point& point, const PointKey& key, std::string_view text);

/// "model=tiny cache=none batch=4": keys that differ from the defaults, in table order, values with
/// blanks in quotes. Reading it back with parse_point gives the same point.
std::string canonical(const Point& point);
Point parse_point(std::string_view canonical_text);

/// Text of one value: numbers in shortest form, booleans as true/false.
std::string to_text(const PointValue& value);

}  // namespace kvmeter

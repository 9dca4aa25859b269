// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// The closed sets of values that appear in sweeps, flags and result files, each with its names in
// one table. The open sets (placements, codecs, attentions) are the .def lists under variants/.
// The position of a name is its code in result files: append, never reorder.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace kvmeter {

enum class Status {
  ok,
  incorrect,
  unsupported,
  oom_host,
  oom_device,
  timeout,
  crash,
  throttled,
  implausible,
  skipped_predicted
};
enum class Phase { prefill, decode };
enum class Backend { serial, openmp, cuda };
enum class Weights { random, checkpoint };
enum class Element { f32, f16, bf16 };  // of weights; cache elements are codecs
enum class Sampling { greedy, temperature };
enum class Prefill { compute, synthetic };
enum class Fp8Scale { none, layer };

template <class Enum>
struct EnumNames;  // `values`: names by code; `what`: the word used in messages

#define KVMETER_ENUM_NAMES(Enum, word, ...)                                        \
  template <>                                                                      \
  struct EnumNames<Enum> {                                                         \
    static constexpr std::string_view what = word;                                 \
    static constexpr auto values = std::to_array<std::string_view>({__VA_ARGS__}); \
  }

KVMETER_ENUM_NAMES(Status, "status", "ok", "incorrect", "unsupported", "oom_host", "oom_device",
                   "timeout", "crash", "throttled", "implausible", "skipped_predicted");
KVMETER_ENUM_NAMES(Phase, "phase", "prefill", "decode");
KVMETER_ENUM_NAMES(Backend, "backend", "serial", "openmp", "cuda");
KVMETER_ENUM_NAMES(Weights, "weights", "random", "checkpoint");
KVMETER_ENUM_NAMES(Element, "weight element", "f32", "f16", "bf16");
KVMETER_ENUM_NAMES(Sampling, "sampling", "greedy", "temperature");
KVMETER_ENUM_NAMES(Prefill, "prefill", "compute", "synthetic");
KVMETER_ENUM_NAMES(Fp8Scale, "fp8 scale", "none", "layer");
#undef KVMETER_ENUM_NAMES

/// The name of an enumerator as it is spelled in sweeps and files.
template <class Enum>
constexpr std::string_view name_of(Enum value) {
  return EnumNames<Enum>::values[static_cast<std::size_t>(value)];
}

/// The enumerator with this name, if there is one.
template <class Enum>
constexpr std::optional<Enum> find_enum(std::string_view name) {
  for (std::size_t i = 0; i < EnumNames<Enum>::values.size(); ++i)
    if (EnumNames<Enum>::values[i] == name) return static_cast<Enum>(i);
  return std::nullopt;
}

/// The enumerator with this name; throws UsageError that lists what is allowed.
template <class Enum>
Enum parse_enum(std::string_view name);

}  // namespace kvmeter

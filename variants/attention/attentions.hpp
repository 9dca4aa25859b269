// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// All attention algorithms of the build, by id. Each is compiled once per back end, in a generated
// file of its own.
#pragma once

#include <cstdint>

#include "variants/attention/work.hpp"

namespace kvmeter {

enum class AttentionId : std::int32_t {
#define KVMETER_ATTENTION(name, Type, help) name,
#include "variants/attention/attentions.def"
#undef KVMETER_ATTENTION
};

namespace attention {
#define KVMETER_ATTENTION(name, Type, help) struct Type;
#include "variants/attention/attentions.def"
#undef KVMETER_ATTENTION
}  // namespace attention

template <AttentionId>
struct AlgorithmOf;
#define KVMETER_ATTENTION(name, Type, help) \
  template <>                               \
  struct AlgorithmOf<AttentionId::name> {   \
    using type = attention::Type;           \
  };
#include "variants/attention/attentions.def"
#undef KVMETER_ATTENTION

/// What a compiled algorithm offers. max_tokens is what the cache was built for.
template <class Exec>
struct AttentionEntry {
  /// Runs the algorithm over the work of a step.
  void (*attend)(const Exec&, const attention::Arguments<Exec>&, std::int32_t max_tokens);
  /// Bytes of scratch that a team of most_rows rows works in.
  std::int64_t (*scratch_bytes)(std::int32_t most_rows, std::int32_t head_dim,
                                std::int32_t max_tokens);
  /// Floats of Arguments::workspace, for `teams` that run at the same time.
  std::int64_t (*workspace_floats)(std::int32_t most_rows, std::int32_t head_dim,
                                   std::int32_t max_tokens, std::int32_t teams);
};

template <class Exec, AttentionId id>
AttentionEntry<Exec> attention_entry();  // one generated file each

template <class Exec>
AttentionEntry<Exec> attention_entry(AttentionId id) {
  switch (id) {
#define KVMETER_ATTENTION(name, Type, help) \
  case AttentionId::name:                   \
    return attention_entry<Exec, AttentionId::name>();
#include "variants/attention/attentions.def"
#undef KVMETER_ATTENTION
  }
  return {};
}

}  // namespace kvmeter

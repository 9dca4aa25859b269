// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/core/enums.hpp"

#include "harness/core/error.hpp"
#include "harness/core/names.hpp"

namespace kvmeter {

template <class Enum>
Enum parse_enum(std::string_view name) {
  if (auto value = find_enum<Enum>(name)) return *value;
  throw UsageError(unknown_name(EnumNames<Enum>::what, name, EnumNames<Enum>::values));
}

template Status parse_enum<Status>(std::string_view);
template Phase parse_enum<Phase>(std::string_view);
template Backend parse_enum<Backend>(std::string_view);
template Weights parse_enum<Weights>(std::string_view);
template Element parse_enum<Element>(std::string_view);
template Sampling parse_enum<Sampling>(std::string_view);
template Prefill parse_enum<Prefill>(std::string_view);
template Fp8Scale parse_enum<Fp8Scale>(std::string_view);

}  // namespace kvmeter

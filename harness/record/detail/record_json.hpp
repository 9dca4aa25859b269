// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Records and attributes as JSON text, and the frame around it that makes any damage visible.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "harness/core/record.hpp"

namespace kvmeter::detail {

/// One line of JSON. Missing values (NaN, infinities) are left out; bad UTF-8 becomes U+FFFD.
std::string to_json(const PointRecord& record);
std::string to_json(const Attributes& attributes);

/// The other way; throws on anything unexpected, unknown names included.
PointRecord record_from_json(std::string_view text);
Attributes attributes_from_json(std::string_view text);

/// {"schema":1,"checksum":"<fnv1a of payload>","payload":<payload>} and a newline.
std::string frame(std::string_view payload);

/// The payload of a framed text, which must be to the byte what frame() makes; throws Error with
/// the reason if not.
std::string unframe(std::string_view framed);

}  // namespace kvmeter::detail

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// JSON as the files of a model hold it: small, shallow, no key twice. Getters whose errors name
// file, key, value and what is allowed. Host only; nothing outside harness/model includes it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace kvmeter::detail {

using Json = nlohmann::json;

/// Parses `text`; throws Error, naming `where`, on bad syntax, a key that occurs twice in one
/// object (which nlohmann::json lets pass) or nesting deeper than `max_depth`.
Json parse_json(std::string_view text, const std::string& where, int max_depth);

/// The bytes of a regular file of at most `max_bytes`.
std::string read_text(const std::filesystem::path& file, std::size_t max_bytes);

/// One line of at most about 60 characters.
std::string brief(const Json& value);

/// Member access to a JSON object of a file. A null member counts as absent.
class JsonObject {
 public:
  /// \param path what precedes a key in messages: "" or "rope_scaling."
  JsonObject(const Json& object, std::string where, std::string path = "");

  [[nodiscard]] const Json* find(std::string_view key) const;  // nullptr: absent or null
  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }
  [[nodiscard]] const Json& at(std::string_view key) const;  // throws where it is absent
  [[nodiscard]] const Json& json() const { return m_object; }

  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t least,
                                     std::int64_t most) const;
  [[nodiscard]] double number(std::string_view key, double least, double most) const;
  [[nodiscard]] bool boolean(std::string_view key, bool otherwise) const;
  [[nodiscard]] std::string string(std::string_view key) const;
  [[nodiscard]] JsonObject object(std::string_view key) const;

  /// Throws "FILE: PATHkey = value: not supported; allowed: ...".
  [[noreturn]] void refuse(std::string_view key, std::string_view allowed) const;
  [[nodiscard]] const std::string& where() const { return m_where; }

 private:
  const Json& m_object;
  std::string m_where;
  std::string m_path;
};

}  // namespace kvmeter::detail

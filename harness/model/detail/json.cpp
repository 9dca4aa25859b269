// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/detail/json.hpp"

#include <fstream>
#include <set>
#include <vector>

#include "harness/core/error.hpp"

namespace kvmeter::detail {

Json parse_json(std::string_view text, const std::string& where, int max_depth) {
  std::vector<std::set<std::string>> keys;  // of the objects that are open, by depth
  const auto check = [&](int depth, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start) {
      KVMETER_EXPECTS(depth < max_depth, "{}: JSON nested more than {} deep", where, max_depth);
      keys.resize(static_cast<std::size_t>(depth) + 1);
      keys.back().clear();
    } else if (event == Json::parse_event_t::key) {
      keys.resize(static_cast<std::size_t>(depth));  // forgets objects that have ended
      KVMETER_EXPECTS(keys.back().insert(value.get<std::string>()).second,
                      "{}: key {} occurs twice", where, brief(value));
    }
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), check);
  } catch (const Json::parse_error& error) {
    fail("{}: not valid JSON at byte {}", where, error.byte);
  } catch (const Json::exception&) {
    fail("{}: not valid JSON: a number is out of range", where);
  }
}

std::string read_text(const std::filesystem::path& file, std::size_t max_bytes) {
  std::error_code error;
  KVMETER_EXPECTS(std::filesystem::is_regular_file(file, error), "{}: no such file", file.string());
  const auto bytes = std::filesystem::file_size(file, error);
  KVMETER_EXPECTS(!error && bytes <= max_bytes, "{}: larger than {} bytes", file.string(),
                  max_bytes);
  std::ifstream stream(file, std::ios::binary);
  std::string text(bytes, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(bytes));
  KVMETER_EXPECTS(stream.good(), "{}: cannot be read", file.string());
  return text;
}

std::string brief(const Json& value) {
  constexpr std::size_t longest = 60;
  std::string text = value.dump(-1, ' ', true);  // ASCII, so that cutting it is safe
  if (text.size() > longest) text.replace(longest - 3, std::string::npos, "...");
  return text;
}

JsonObject::JsonObject(const Json& object, std::string where, std::string path)
    : m_object(object), m_where(std::move(where)), m_path(std::move(path)) {
  KVMETER_EXPECTS(object.is_object(), "{}: {}must be a JSON object, not {}", m_where,
                  m_path.empty() ? "" : m_path.substr(0, m_path.size() - 1) + " ",
                  object.type_name());
}

const Json* JsonObject::find(std::string_view key) const {
  const auto member = m_object.find(key);
  return member == m_object.end() || member->is_null() ? nullptr : &*member;
}

const Json& JsonObject::at(std::string_view key) const {
  const Json* member = find(key);
  KVMETER_EXPECTS(member != nullptr, "{}: {}{} is missing", m_where, m_path, key);
  return *member;
}

std::int64_t JsonObject::integer(std::string_view key, std::int64_t least,
                                 std::int64_t most) const {
  const Json& value = at(key);
  const bool fits = value.is_number_integer() &&
                    !(value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX);
  if (!fits || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most)
    refuse(key, fmt::format("integers from {} to {}", least, most));
  return value.get<std::int64_t>();
}

double JsonObject::number(std::string_view key, double least, double most) const {
  const Json& value = at(key);
  if (!value.is_number() || !(value.get<double>() >= least && value.get<double>() <= most))
    refuse(key, fmt::format("numbers from {} to {}", least, most));
  return value.get<double>();
}

bool JsonObject::boolean(std::string_view key, bool otherwise) const {
  const Json* value = find(key);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) refuse(key, "true, false");
  return value->get<bool>();
}

std::string JsonObject::string(std::string_view key) const {
  const Json& value = at(key);
  if (!value.is_string()) refuse(key, "a string");
  return value.get<std::string>();
}

JsonObject JsonObject::object(std::string_view key) const {
  return {at(key), m_where, m_path + std::string(key) + "."};
}

void JsonObject::refuse(std::string_view key, std::string_view allowed) const {
  const auto member = m_object.find(key);
  fail("{}: {}{} = {}: not supported; allowed: {}", m_where, m_path, key,
       member == m_object.end() ? "(absent)" : brief(*member), allowed);
}

}  // namespace kvmeter::detail

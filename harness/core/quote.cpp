// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/core/quote.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/error.hpp"

namespace kvmeter {
namespace {

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n') {
      result += "\\n";
    } else {
      result += c;
    }
  }
  return result + '"';
}

}  // namespace

std::string quote_if_needed(std::string_view text, char separator) {
  const bool plain = !text.empty() && std::ranges::none_of(text, [&](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == '"' || c == separator;
  });
  return plain ? std::string(text) : quoted(text);
}

std::vector<std::string> split_quoted(std::string_view text, char separator) {
  std::vector<std::string> items(1);
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '"') {
      inside = !inside;
    } else if (!inside && c == separator) {
      items.emplace_back();
    } else {
      if (inside && c == '\\' && i + 1 < text.size()) {
        c = text[++i];
        if (c == 'n') c = '\n';
      }
      items.back() += c;
    }
  }
  if (inside) throw UsageError(fmt::format("a quote is left open in {}", text));
  return items;
}

}  // namespace kvmeter

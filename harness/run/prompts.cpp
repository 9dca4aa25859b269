// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/prompts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/error.hpp"
#include "harness/exec/counter_random.hpp"
#include "harness/model/safetensors.hpp"

namespace kvmeter::run {
namespace {

std::vector<std::int32_t> made_up_tokens(const Setup& s) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(s.point.batch * s.point.prompt_tokens));
  for (std::size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<std::int32_t>(splitmix64(splitmix64(s.seed) + i) %
                                       static_cast<std::uint64_t>(s.config.vocab_size));
  return ids;
}

}  // namespace

std::vector<std::int32_t> text_tokens(const Setup& s) {
  const std::filesystem::path path = find_file(s.point.text);
  const std::vector<std::int32_t> text = read_token_ids(path);
  if (static_cast<std::int64_t>(text.size()) < s.point.prompt_tokens)
    throw UsageError(fmt::format("prompt_tokens {}: {} has {} tokens", s.point.prompt_tokens,
                                 s.point.text, text.size()));
  for (const std::int32_t id : text)
    if (id >= s.config.vocab_size)
      throw UsageError(fmt::format("{}: token id {}; {} has ids 0 to {}", s.point.text, id,
                                   s.files.name, s.config.vocab_size - 1));
  return text;
}

std::vector<std::vector<std::int32_t>> make_prompts(const Setup& s) {
  const std::vector<std::int32_t> tokens =
      s.point.text.empty() ? made_up_tokens(s) : text_tokens(s);
  const auto n = static_cast<std::size_t>(s.point.prompt_tokens);
  const std::size_t whole_prompts = tokens.size() / n;
  std::vector<std::vector<std::int32_t>> prompts;
  for (std::size_t i = 0; i < static_cast<std::size_t>(s.point.batch); ++i) {
    const auto first = tokens.begin() + static_cast<std::ptrdiff_t>(i % whole_prompts * n);
    prompts.emplace_back(first, first + static_cast<std::ptrdiff_t>(n));
    std::copy_n(prompts.front().begin(), s.point.shared_prefix_tokens, prompts.back().begin());
  }
  return prompts;
}

}  // namespace kvmeter::run

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/setup.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "harness/core/error.hpp"
#include "harness/core/hash.hpp"
#include "harness/exec/counter_random.hpp"
#include "harness/exec/threads.hpp"
#include "harness/model/checkpoint.hpp"
#include "harness/model/safetensors.hpp"
#include "harness/run/registry.hpp"

namespace kvmeter::run {
namespace {

Element weight_element(const Point& point, const ModelConfig& config) {
  if (point.weight_element != "model") return parse_enum<Element>(point.weight_element);
  return config.element.value_or(Element::bf16);
}

ops::SamplingParameters sampling_parameters(const Point& point, std::uint64_t seed) {
  return {parse_enum<Sampling>(point.sampling) == Sampling::greedy,
          static_cast<float>(point.temperature), static_cast<std::int32_t>(point.top_k),
          point.top_p, seed};
}

void check_shape(const Setup& s) {
  const std::int64_t tokens = s.max_tokens();
  if (tokens > s.config.max_positions)
    throw UsageError(fmt::format("prompt_tokens {} + new_tokens {} = {}; {} has {} positions",
                                 s.point.prompt_tokens, s.point.new_tokens, tokens, s.files.name,
                                 s.config.max_positions));
  const bool reshaped = s.point.kv_heads != "model" || s.point.n_layers != 0;
  if (reshaped && !s.random_weights())
    throw UsageError(
        fmt::format("kv_heads {} and n_layers {}: with weights = checkpoint only the model's own "
                    "are allowed (kv_heads = model, n_layers = 0)",
                    s.point.kv_heads, s.point.n_layers));
}

/// Path, size and time of change: what tells one file from another without reading gigabytes.
std::string file_stamp(const std::filesystem::path& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  const auto time = std::filesystem::last_write_time(path, error);
  if (error) return path.string();
  return fmt::format("{} {} {}", path.string(), size, time.time_since_epoch().count());
}

std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The program's own bytes: what it was built from does not tell of uncommitted changes.
const std::string& program_hash() {
  static const std::string hash = hex(fnv1a(file_text("/proc/self/exe")));
  return hash;
}

std::vector<std::int32_t> made_up_tokens(const Setup& s) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(s.point.batch * s.point.prompt_tokens));
  for (std::size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<std::int32_t>(splitmix64(splitmix64(s.seed) + i) %
                                       static_cast<std::uint64_t>(s.config.vocab_size));
  return ids;
}

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

}  // namespace

CacheSpec cache_spec(const ModelConfig& config, std::int64_t batch, std::int64_t max_tokens) {
  CacheSpec spec;
  spec.n_layers = config.n_layers;
  spec.n_heads = config.n_heads;
  spec.n_kv_heads = config.n_kv_heads;
  spec.head_dim = config.head_dim;
  spec.batch = batch;
  spec.max_tokens = max_tokens;
  spec.windows = config.windows;
  return spec;
}

Setup make_setup(const Point& point, std::uint64_t seed) {
  Setup s;
  s.point = point;
  s.seed = seed;
  s.files = find_model(point.model, parse_enum<Weights>(point.weights));
  s.config = read_model_config(s.files.config);
  reshape(s.config, point.kv_heads, point.n_layers);
  s.backend = parse_enum<Backend>(point.backend);
  if (s.backend == Backend::openmp) check_threads(point.threads);
  s.element = weight_element(point, s.config);
  s.recipe = recipe_of(point);
  s.cache = cache_spec(s.config, point.batch, point.prompt_tokens + point.new_tokens);
  check_shape(s);
  s.generation = {s.max_tokens(),
                  point.batch,
                  point.new_tokens,
                  point.prompt_tokens,
                  keeps_past(s.recipe.placement),
                  point.ignore_eos,
                  sampling_parameters(point, seed)};
  if (!point.text.empty()) text_tokens(s);
  if (!s.random_weights()) bind_tensors(s.config, Checkpoint::open(s.files.weights));
  return s;
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
  }
  return prompts;
}

std::int64_t effective_threads(const Setup& s) {
  return visit_backend(s.backend, [&](auto tag) {
    return std::int64_t{thread_count(make_exec<typename decltype(tag)::type>(s.point.threads))};
  });
}

std::vector<std::string> hash_parts(const Setup& s) {
  std::vector<std::string> parts{program_hash(), file_text(s.files.config),
                                 fmt::format("{} {}", s.seed, effective_threads(s))};
  if (!s.random_weights()) {
    const std::filesystem::path one = s.files.weights / "model.safetensors";
    const std::filesystem::path index = s.files.weights / "model.safetensors.index.json";
    parts.push_back(file_stamp(std::filesystem::exists(one) ? one : index));
  }
  if (!s.point.text.empty()) parts.push_back(file_text(find_file(s.point.text)));
  return parts;
}

}  // namespace kvmeter::run

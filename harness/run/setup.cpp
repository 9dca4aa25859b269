// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "harness/core/error.hpp"
#include "harness/core/hash.hpp"
#include "harness/exec/counter_random.hpp"
#include "harness/exec/threads.hpp"
#include "harness/model/checkpoint.hpp"
#include "harness/model/safetensors.hpp"
#include "harness/run/registry.hpp"
#include "variants/footprint.hpp"

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
  const std::int64_t tokens = s.point.prompt_tokens + s.point.new_tokens;
  // Angles go on beyond what a model was trained for; with made-up weights that is no mistake.
  const bool any_position = s.random_weights() && s.config.positions == Positions::rope;
  if (tokens > s.config.max_positions && !any_position)
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

void check_tied(const Setup& s) {
  if (s.point.tie_layers && !s.random_weights())
    throw UsageError("tie_layers = true: needs weights = random; a checkpoint has its own layers");
}

void check_prefix(const Point& point) {
  if (point.shared_prefix_tokens > 0 && point.shared_prefix_tokens >= point.prompt_tokens)
    throw UsageError(fmt::format("shared_prefix_tokens {}: expected less than prompt_tokens {}",
                                 point.shared_prefix_tokens, point.prompt_tokens));
}

/// What needs rows of earlier steps.
void check_past(const Setup& s) {
  if (s.generation.keeps_past) return;
  const Point& p = s.point;
  for (const auto& [asked, key] : {std::pair{p.prefill_chunk > 0, "prefill_chunk"},
                                   std::pair{p.shared_prefix_tokens > 0, "shared_prefix_tokens"},
                                   std::pair{p.offload_layers > 0, "offload_layers"},
                                   std::pair{p.prefill == "synthetic", "prefill = synthetic"}})
    if (asked) unsupported("cache = {} with {}: it keeps nothing from step to step", p.cache, key);
}

void check_windows(const Setup& s) {
  const bool any = std::ranges::any_of(s.cache.windows, [](auto w) { return w > 0; });
  if (any) return;
  if (forgets_beyond_window(s.recipe.placement))
    unsupported("cache = {}: no layer of {} has a window; expected window_tokens from 1",
                s.point.cache, s.files.name);
  if (s.point.sink_tokens > 0)
    unsupported("sink_tokens = {}: no layer of {} has a window; expected window_tokens from 1",
                s.point.sink_tokens, s.files.name);
}

void check_offload(const Setup& s) {
  if (s.point.offload_layers > s.config.n_layers)
    throw UsageError(fmt::format("offload_layers {}: {} has {} layers", s.point.offload_layers,
                                 s.files.name, s.config.n_layers));
  if (!maps_pages(s.recipe.placement)) return;
  if (s.point.offload_layers > 0)
    unsupported("cache = {} with offload_layers: pages are mapped in the first memory space only",
                s.point.cache);
  if (s.backend == Backend::cuda)
    unsupported("cache = {} with backend = cuda: pages are mapped on the host only", s.point.cache);
}

/// Rows of a pool whose blocks a prefix is shared in: the prefix once, and of each sequence what it
/// has for itself; and enough for the check of the first steps. 0: as many as all sequences have
std::int64_t pool_tokens(const Setup& s, std::int64_t fed) {
  const std::int64_t size = s.point.block_tokens;
  if (s.point.shared_prefix_tokens == 0 || !shares_blocks(s.recipe.placement)) return 0;
  const auto blocks = [&](std::int64_t tokens) { return (tokens + size - 1) / size; };
  const std::int64_t shared = s.point.shared_prefix_tokens / size;
  const std::int64_t needed = shared + s.point.batch * (blocks(fed) - shared);
  const std::int64_t checked = 2 * blocks(std::min(fed, most_checked_tokens + 4));
  return size * std::max(needed, std::min(checked, s.point.batch * blocks(fed)));
}

CacheSpec cache_of(const Setup& s) {
  const Point& point = s.point;
  // The last token that is generated is never fed back.
  const std::int64_t fed = point.prompt_tokens + std::max<std::int64_t>(point.new_tokens, 1) - 1;
  CacheSpec spec = cache_spec(s.config, point.batch, fed);
  spec.windows = effective_windows(point, s.config);
  spec.sink_tokens = point.sink_tokens;
  spec.block_tokens = point.block_tokens;
  spec.offload_layers = point.offload_layers;
  spec.pool_tokens = pool_tokens(s, fed);
  return spec;
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

std::vector<std::int64_t> effective_windows(const Point& point, const ModelConfig& config) {
  std::vector<std::int64_t> windows = config.windows;
  windows.resize(static_cast<std::size_t>(config.n_layers), 0);
  for (std::int64_t& window : windows)
    if (point.window_tokens > 0)
      window = window > 0 ? std::min(window, point.window_tokens) : point.window_tokens;
  return windows;
}

std::int64_t effective_chunk(const Point& point, const std::vector<std::int64_t>& windows) {
  constexpr std::int64_t ring_chunk = 256;
  const std::int64_t prompt = point.prompt_tokens;
  if (point.prefill_chunk > 0) return std::min(point.prefill_chunk, prompt);
  if (!forgets_beyond_window(recipe_of(point).placement)) return prompt;
  std::int64_t chunk = std::min(ring_chunk, prompt);
  for (const std::int64_t window : windows)
    if (window > 0) chunk = std::min(chunk, window);
  return chunk;
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
  s.cache = cache_of(s);
  s.cache.max_step_tokens = effective_chunk(point, s.cache.windows);
  check_shape(s);
  s.generation = {s.max_tokens(),
                  point.batch,
                  point.new_tokens,
                  point.prompt_tokens,
                  s.cache.max_step_tokens,
                  point.shared_prefix_tokens,
                  parse_enum<Prefill>(point.prefill) == Prefill::synthetic,
                  keeps_past(s.recipe.placement),
                  point.ignore_eos,
                  sampling_parameters(point, seed)};
  check_tied(s);
  check_prefix(point);
  check_past(s);
  check_windows(s);
  check_offload(s);
  check_layout(s.recipe, s.cache);
  if (!point.text.empty()) text_tokens(s);
  if (!s.random_weights()) bind_tensors(s.config, Checkpoint::open(s.files.weights));
  return s;
}

HeldTokens held_tokens(const Setup& s) {
  return {s.max_tokens(), s.point.prompt_tokens, s.point.shared_prefix_tokens};
}

ModelConfig weights_config(const Setup& s) {
  ModelConfig config = s.config;
  if (s.point.tie_layers) {
    config.n_layers = 1;
    config.windows.resize(1);
  }
  return config;
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

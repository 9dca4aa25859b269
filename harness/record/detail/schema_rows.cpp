// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/record/detail/schema_rows.hpp"

#include "harness/core/enums.hpp"

namespace kvmeter::detail {
namespace {

using enum ValueType;

template <class Enum>
constexpr std::span<const std::string_view> names_of = EnumNames<Enum>::values;

// The position of a name is its code: append, never reorder.
constexpr auto kWeightElements = std::to_array<std::string_view>({"model", "f32", "f16", "bf16"});
constexpr auto kStopReasons = std::to_array<std::string_view>({"samples", "noise", "cap"});

constexpr auto kFields = std::to_array<Row>({
    {"point_hash", text, "",
     "hash of configuration, workload, program and schema; names the point"},
    {"status", choice, "", "how the point ended; only ok points have performance numbers",
     names_of<Status>},
    {"message", text, "", "what happened, if the status is not ok"},
});

// Keys that are not here get the type of their member and, if a number, the unit 1.
constexpr auto kKeys = std::to_array<Row>({
    {"weights", choice, "", "", names_of<Weights>},
    {"weight_element", choice, "", "", kWeightElements},
    {"cache", choice, "", ""},
    {"k_element", choice, "", ""},
    {"v_element", choice, "", ""},
    {"fp8_scale", choice, "", "", names_of<Fp8Scale>},
    {"block_tokens", int64, "token", ""},
    {"window_tokens", int64, "token", ""},
    {"sink_tokens", int64, "token", ""},
    {"shared_prefix_tokens", int64, "token", ""},
    {"attention", choice, "", ""},
    {"backend", choice, "", "", names_of<Backend>},
    {"prompt_tokens", int64, "token", ""},
    {"new_tokens", int64, "token", ""},
    {"prefill", choice, "", "", names_of<Prefill>},
    {"prefill_chunk", int64, "token", ""},
    {"sampling", choice, "", "", names_of<Sampling>},
});

constexpr auto kMeasured = std::to_array<Row>({
    // What really ran, where it can differ from what was requested.
    {"effective_weight_element", choice, "", "how weights were held", kWeightElements},
    {"effective_kv_heads", int64, "1", "KV heads per layer"},
    {"effective_n_layers", int64, "1", "transformer blocks"},
    {"effective_k_element", choice, "", "how K was stored"},
    {"effective_v_element", choice, "", "how V was stored"},
    {"effective_block_tokens", int64, "token",
     "tokens of a block of the first layer after the last step"},
    {"effective_window_tokens", int64, "token",
     "keys that a query sees at most in the layer that sees most, sinks left out; 0: all"},
    {"effective_prefill_chunk", int64, "token", "prompt tokens of a sequence that a step took in"},
    {"effective_attention", choice, "", "the algorithm that read the cache"},
    {"effective_backend", choice, "", "the Kokkos execution space", names_of<Backend>},
    {"effective_threads", int64, "1", "threads of the back end"},
    {"effective_prefill_matmul", text, "", "kernels of the linear layers in prefill"},
    {"effective_decode_matmul", text, "", "kernels of the linear layers in decode"},
    // The model's shape.
    {"n_heads", int64, "1", "query heads per layer"},
    {"n_kv_heads", int64, "1", "KV heads per layer"},
    {"head_dim", int64, "1", "channels of one head"},
    {"hidden_dim", int64, "1", "channels of the residual stream"},
    // Times: medians over samples, with a 95 % interval of the median.
    {"ttft_s", real, "s", "time to first token: the prefill of the whole batch, median"},
    {"ttft_s_ci_low", real, "s", "time to first token, lower end of the interval"},
    {"ttft_s_ci_high", real, "s", "time to first token, upper end of the interval"},
    {"itl_s", real, "s", "inter-token latency: one decode step of the whole batch, median"},
    {"itl_s_ci_low", real, "s", "inter-token latency, lower end of the interval"},
    {"itl_s_ci_high", real, "s", "inter-token latency, upper end of the interval"},
    {"prefill_tokens_per_s", real, "token s-1", "prompt tokens of the batch over time of prefill"},
    {"prefill_tokens_per_s_ci_low", real, "token s-1", "prefill rate, lower end of the interval"},
    {"prefill_tokens_per_s_ci_high", real, "token s-1", "prefill rate, upper end of the interval"},
    {"decode_tokens_per_s", real, "token s-1", "tokens of a decode step over its time"},
    {"decode_tokens_per_s_ci_low", real, "token s-1", "decode rate, lower end of the interval"},
    {"decode_tokens_per_s_ci_high", real, "token s-1", "decode rate, upper end of the interval"},
    {"total_s", real, "s", "prefill and all decode steps of one generation, median"},
    {"total_s_ci_low", real, "s", "whole generation, lower end of the interval"},
    {"total_s_ci_high", real, "s", "whole generation, upper end of the interval"},
    // Memory.
    {"cache_formula_bytes", int64, "byte",
     "2 x layers x KV heads x head_dim x tokens x batch x bytes per element"},
    {"cache_tokens", int64, "token", "tokens that the cache keeps, over sequences and layers"},
    {"cache_live_bytes", int64, "byte", "rows of the cache that hold tokens, scales included"},
    {"cache_allocated_bytes", int64, "byte", "memory behind rows of the cache"},
    {"cache_reserved_bytes", int64, "byte", "address space or slots set aside for the cache"},
    {"cache_metadata_bytes", int64, "byte", "scales of live rows, and block tables"},
    {"cache_offloaded_bytes", int64, "byte",
     "part of cache_allocated_bytes that lies in the second memory space"},
    // What the ledger counts under the cache's labels is the formula's bytes and these, exactly.
    {"cache_ledger_bytes", int64, "byte", "allocations under the labels of the cache"},
    {"cache_ledger_peak_bytes", int64, "byte", "most of cache_ledger_bytes at any time"},
    {"cache_scale_bytes", int64, "byte",
     "scales of live rows, shared ones once, and what rows are padded by"},
    {"cache_shared_bytes", int64, "byte",
     "elements of rows that the formula counts once more for each further owner"},
    {"cache_block_rounding_bytes", int64, "byte",
     "rows of blocks or pages in use that hold no token yet"},
    {"cache_reserve_bytes", int64, "byte",
     "rows set aside for later tokens or for other sequences"},
    {"cache_staging_bytes", int64, "byte", "buffers that offloaded layers are brought in through"},
    {"cache_table_bytes", int64, "byte", "block tables and lists of copies on the device"},
    {"cache_allocator_bytes", int64, "byte", "what Kokkos rounds allocations up by"},
    {"cache_unexplained_bytes", int64, "byte",
     "cache_ledger_bytes less the formula's and all of these, shared ones added: 0"},
    {"weights_bytes", int64, "byte", "weights as they are held"},
    {"activations_bytes", int64, "byte", "buffers of activations and logits"},
    {"peak_rss_bytes", int64, "byte", "largest resident memory of the process"},
    {"rss_delta_bytes", int64, "byte", "growth of resident memory over the point"},
    {"rss_cache_bytes", int64, "byte",
     "growth of resident memory while the cache was allocated and touched; of caches that grow, "
     "until the last sample, less what Kokkos allocated outside them meanwhile"},
    {"device_delta_bytes", int64, "byte", "growth of used device memory over the point"},
    // Work.
    {"kv_projections", int64, "1", "token x layer computations of K and V in one generation"},
    {"n_generated", int64, "token", "tokens really generated by the sequence that went on longest"},
    {"declared_bytes_read", int64, "byte", "bytes that one decode step has to read"},
    {"declared_flops", int64, "1", "floating-point operations of one decode step"},
    {"prefill_declared_flops", int64, "1", "floating-point operations of the prefill"},
    {"read_bandwidth_fraction", real, "1",
     "declared bytes of a decode step over its time and the measured peak read bandwidth"},
    {"matmul_rate_fraction", real, "1",
     "declared operations of the prefill over its time and the measured peak matmul rate"},
    // Quality, where text is given, on a checkpoint: over all tokens of the prompts, each predicted
    // from those before it; the reference is the same model with an f32 contiguous cache.
    {"n_scored", int64, "token", "tokens that quality is measured over"},
    {"nll_mean", real, "1", "mean negative log-likelihood of a token, in nats"},
    {"nll_mean_se", real, "1", "standard error of nll_mean"},
    {"nll_reference_mean", real, "1", "nll_mean of the reference"},
    {"perplexity", real, "1", "exp(nll_mean)"},
    {"perplexity_se", real, "1", "standard error of perplexity: perplexity x nll_mean_se"},
    {"kl_mean", real, "1",
     "mean KL divergence from the reference's next-token distribution, in nats"},
    {"kl_mean_se", real, "1", "standard error of kl_mean"},
    {"kl_max", real, "1", "largest KL divergence of a position, in nats"},
    {"top1_agreement", real, "1", "share of positions with the reference's most likely token"},
    {"top1_agreement_se", real, "1", "standard error of top1_agreement"},
    // Trust.
    {"check_max_difference", real, "1",
     "worst difference of logits from the reference in the first steps, over their largest value"},
    {"check_bound", real, "1",
     "the difference that the check allows: twice the measured effect of rounding, plus 2e-4"},
    {"decode_max_difference", real, "1",
     "logits after all but one token of the first prompt and then that token, from those after all "
     "at once: worst difference over their largest value; prompts of up to 512 tokens"},
    {"cache_rows_compared", int64, "1",
     "tokens x KV heads x layers whose K and V were compared, byte by byte"},
    {"cache_rows_changed", int64, "1",
     "of them: not the same bytes after cache_rows_steps as before: 0"},
    {"cache_rows_steps", int64, "1",
     "decode steps between the two looks: those of the first generation, which is warm-up and ends "
     "after a quarter of max_seconds"},
    {"live_labels", text, "", "bytes alive after the last step by label, one a line"},
    {"stop_reason", choice, "", "the rule that ended sampling: enough samples, noise, or the cap",
     kStopReasons},
    {"n_samples", int64, "1", "timed decode steps that the medians are over, warm-up left out"},
    {"started_at", text, "", "when the point was started, ISO 8601"},
    {"order", int64, "1", "position of the point in the whole sweep"},
});

constexpr auto kSamples = std::to_array<Row>({
    {"sample_point", int64, "1", "index of the sample's point along the dimension point"},
    {"sample_trial", int64, "1", "repetition of the point in a fresh process"},
    {"sample_index", int64, "1", "order within the trial"},
    {"sample_phase", choice, "", "what was timed", names_of<Phase>},
    {"sample_context_len", int64, "token", "tokens per sequence attended to at the step's end"},
    {"sample_n_tokens", int64, "token",
     "tokens produced, or in a prefill taken in, over the batch"},
    {"sample_time_s", real, "s", "time of the step of the whole batch"},
    {"sample_is_warmup", choice, "", "left out of the statistics", boolean_names},
});

constexpr auto kAttributes = std::to_array<Row>({
    {"schema_version", int64, "1", "version of these tables; written by the writer itself"},
    {"title", text, "", "name of the sweep"},
    {"description", text, "", "description of the sweep"},
    {"sweep_text", text, "", "the sweep file, or the flags that stood for it"},
    {"seed", int64, "1", "seed of the sweep"},
    {"command_line", text, "", "how the program was called"},
    {"program_version", text, "", "version of kvmeter"},
    {"git_commit", text, "", "commit that the program was built from"},
    {"git_dirty", int64, "1", "1 if files differed from that commit, else 0"},
    {"compiler", text, "", "compiler and its version"},
    {"compiler_flags", text, "", "flags of the build"},
    {"build_type", text, "", "CMake build type"},
    {"kokkos_version", text, "", "version of Kokkos"},
    {"kokkos_configuration", text, "", "what Kokkos says of its configuration"},
    {"library_versions", text, "", "name and version of each library, one a line"},
    {"cpu", text, "", "processor model"},
    {"cpu_count", int64, "1", "processors that the program may use"},
    {"memory_bytes", int64, "byte", "main memory of the machine"},
    {"gpu", text, "", "device model"},
    {"gpu_driver", text, "", "driver and runtime version"},
    {"operating_system", text, "", "kernel name and version"},
    {"host", text, "", "name of the machine"},
    {"environment", text, "", "environment variables that matter, NAME=value, one a line"},
    {"peak_read_bandwidth", real, "byte s-1", "best measured read bandwidth"},
    {"peak_read_bandwidth_curve", text, "", "bytes of the buffer and bytes per second, one a line"},
    {"peak_matmul_rate", real, "s-1", "best measured floating-point operations per second"},
    {"peak_matmul_curve", text, "", "shape, kernel and operations per second, one a line"},
    {"started_at", text, "", "when the sweep was started, ISO 8601"},
    {"merge_notes", text, "", "attributes left out because the merged journals disagree"},
});

}  // namespace

std::span<const Row> field_rows() {
  return kFields;
}
std::span<const Row> key_rows() {
  return kKeys;
}
std::span<const Row> measured_rows() {
  return kMeasured;
}
std::span<const Row> sample_rows() {
  return kSamples;
}
std::span<const Row> attribute_rows() {
  return kAttributes;
}

}  // namespace kvmeter::detail

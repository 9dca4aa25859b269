// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/core/error.hpp"
#include "harness/run/commands.hpp"
#include "harness/run/expected.hpp"
#include "harness/run/reference_check.hpp"
#include "variants/codec/codecs.hpp"

namespace kvmeter::run {
namespace {

void print_table(const std::vector<Difference>& differences) {
  fmt::print("{:<34}{:>12}{:>12}{:>12}  {:<8}{}\n", "tensor", "worst", "bound", "mean", "verdict",
             "worst at");
  for (const Difference& d : differences) {
    const std::string bound = d.judged ? fmt::format("{:.3e}", d.bound) : "-";
    const char* verdict = d.passed() ? "same" : "DIFFERS";
    fmt::print("{:<34}{:>12.3e}{:>12}{:>12.2e}  {:<8}{}\n", d.what, d.worst, bound, d.mean,
               d.judged ? verdict : "-", d.where);
  }
}

void print_json(const std::vector<Difference>& differences) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Difference& d : differences)
    all.push_back({{"tensor", d.what},
                   {"worst", d.worst},
                   {"bound", d.bound},
                   {"mean", d.mean},
                   {"where", d.where},
                   {"judged", d.judged},
                   {"passed", d.passed()}});
  fmt::print("{}\n", all.dump(2));
}

/// Of an element, or of the largest that shares its scale.
double relative_error(CodecId codec) {
  double error = 0;
  visit_codec(codec,
              [&](auto c) { error = decltype(c)::relative_error + decltype(c)::largest_error; });
  return error;
}

/// Relative error of what is rounded: cache elements, and activations where the matrix product
/// knows no other way.
double rounding_error(const Setup& s) {
  const double cache = std::max(relative_error(s.recipe.k_codec), relative_error(s.recipe.v_codec));
  if (s.backend != Backend::cuda || s.element == Element::f32) return cache;
  return std::max(cache, relative_error(s.element == Element::f16 ? CodecId::f16 : CodecId::bf16));
}

/// The other side computed in f32. A cache element rounds K and V by up to relative_error, so the
/// scores of a layer, of magnitude s, are off by s x that, and so are its probabilities; s = 8 is
/// where a softmax is all but saturated. The layers' roundings are independent and add up as
/// sqrt(n_layers), and the worst of all logits lies some 4 standard deviations out: 8 x 4 = 32.
double default_tolerance(const Setup& s) {
  const double layers = std::sqrt(static_cast<double>(s.config.n_layers));
  return std::min(summation_tolerance + 32 * layers * rounding_error(s), wrong_result);
}

/// A cache that rounds has a wide bound, behind which a wrong model could hide: so the model is
/// first held to f32's own bound with the reference cache. Nothing where that is what the setup
/// asks for.
std::vector<Difference> with_f32_cache(Setup s, const Expected& expected) {
  if (s.recipe.k_codec == CodecId::f32 && s.recipe.v_codec == CodecId::f32) return {};
  s.recipe = {PlacementId::Contiguous, CodecId::f32, CodecId::f32, AttentionId::two_pass};
  s.generation.keeps_past = true;
  std::vector<Difference> differences = compare_with_expected(s, expected, default_tolerance(s));
  for (Difference& d : differences) d.what = "f32 cache: " + d.what;
  return differences;
}

/// The point that the file's prompts are, with room for just what it generates.
Setup make_setup_of(const CheckOptions& options, const Expected& expected) {
  Point point = options.point;
  point.batch = expected.batch;
  point.prompt_tokens = expected.prompt_tokens;
  point.new_tokens = expected.new_tokens;
  find_model(point.model, parse_enum<Weights>(point.weights));  // its mistakes are not the file's
  try {
    return make_setup(point, 1);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", options.expected.string(), error.what()));
  }
}

}  // namespace

int check(const CheckOptions& options) {
  const Expected expected = read_expected(options.expected);
  const Setup setup = make_setup_of(options, expected);
  std::vector<Difference> differences = with_f32_cache(setup, expected);
  for (Difference& d :
       compare_with_expected(setup, expected, options.tolerance.value_or(default_tolerance(setup))))
    differences.push_back(std::move(d));
  options.json ? print_json(differences) : print_table(differences);
  for (const Difference& d : differences)
    if (!d.passed()) return 3;
  return 0;
}

}  // namespace kvmeter::run

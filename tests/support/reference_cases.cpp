// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/reference_cases.hpp"

#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <stdexcept>

#include "tests/oracle/safetensors.hpp"

namespace kvmeter::test {
namespace {

namespace fs = std::filesystem;

void add_cases(const fs::path& parent, const std::string& prefix,
               std::vector<ReferenceCase>& cases) {
  for (const auto& entry : fs::directory_iterator(parent))
    if (exists(entry.path() / "expected.safetensors"))
      cases.push_back({prefix + entry.path().filename().string(), entry.path()});
}

std::vector<std::int64_t> whole_numbers(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

/// Row `i` of an array [n_rows, ...].
template <class T>
std::span<const T> row_of(const std::vector<T>& values, std::int64_t i, std::int64_t n_rows) {
  const auto length = values.size() / static_cast<std::size_t>(n_rows);
  return std::span(values).subspan(static_cast<std::size_t>(i) * length, length);
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const ReferenceCase& reference) {
  return out << reference.name;
}

std::vector<ReferenceCase> reference_cases() {
  std::vector<ReferenceCase> cases;
  const fs::path fixtures = fs::path(KVMETER_SOURCE_DIR) / "tests" / "fixtures";
  add_cases(fixtures, "fixtures/", cases);
  if (cases.empty()) throw std::runtime_error("no test cases in " + fixtures.string());
  if (const char* shared = std::getenv("KVMETER_SHARED"))
    if (const auto folder = fs::path(shared) / "oracle"; exists(folder))
      add_cases(folder, "shared/", cases);
  std::sort(cases.begin(), cases.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return cases;
}

Expected read_expected(const fs::path& folder) {
  const auto tensors = oracle::read_safetensors(folder / "expected.safetensors");
  const auto& logits = tensors.at("logits");
  Expected expected;
  expected.batch = logits.shape.at(0);
  expected.prompt = logits.shape.at(1);
  expected.vocab = logits.shape.at(2);
  expected.input_ids = whole_numbers(tensors.at("input_ids").data);
  expected.logits = logits.data;
  expected.n_new = tensors.at("generated").shape.at(1);
  expected.generated = whole_numbers(tensors.at("generated").data);
  expected.step_logits = tensors.at("step_logits").data;
  if (const auto nll = tensors.find("nll"); nll != tensors.end()) expected.nll = nll->second.data;
  return expected;
}

std::span<const std::int64_t> Expected::prompt_of(std::int64_t sequence) const {
  return row_of(input_ids, sequence, batch);
}
std::span<const double> Expected::logits_of(std::int64_t sequence) const {
  return row_of(logits, sequence, batch);
}
std::span<const std::int64_t> Expected::generated_of(std::int64_t sequence) const {
  return row_of(generated, sequence, batch);
}
std::span<const double> Expected::step_logits_of(std::int64_t sequence) const {
  return row_of(step_logits, sequence, batch);
}
std::span<const double> Expected::nll_of(std::int64_t sequence) const {
  return row_of(nll, sequence, batch);
}

}  // namespace kvmeter::test

// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/record/merge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "harness/record/durable_file.hpp"
#include "harness/record/journal.hpp"
#include "harness/record/result_file.hpp"

namespace kvmeter {
namespace {

/// Of two records of one point the successful one is better; then the one with more samples.
bool is_better(const PointRecord& a, const PointRecord& b) {
  return std::tuple(a.status == Status::ok, a.samples.size()) >
         std::tuple(b.status == Status::ok, b.samples.size());
}

std::int64_t order_of(const PointRecord& record) {
  const auto last = std::numeric_limits<std::int64_t>::max();
  return find_value<std::int64_t>(record, "order").value_or(last);
}

std::vector<PointRecord> in_order(std::map<std::string, PointRecord>&& by_hash) {
  std::vector<PointRecord> records;
  for (auto& [hash, record] : by_hash) records.push_back(std::move(record));
  std::ranges::stable_sort(records, {}, order_of);  // points of the same order stay sorted by hash
  return records;
}

/// What the journals say of each attribute, without repetition.
using Sayings = std::map<std::string, std::set<RecordValue>>;

RecordValue join(const std::set<RecordValue>& values) {
  std::vector<std::string> texts;
  for (const RecordValue& value : values) texts.push_back(std::get<std::string>(value));
  return fmt::format("{}", fmt::join(texts, "\n"));
}

Attributes agree(const Sayings& sayings) {
  Attributes attributes;
  std::vector<std::string> disputed;
  for (const auto& [name, values] : sayings) {
    const bool is_text = std::holds_alternative<std::string>(*values.begin());
    if (values.size() == 1)
      attributes[name] = *values.begin();
    else if (is_text)
      attributes[name] = join(values);
    else
      disputed.push_back(name);
  }
  if (!disputed.empty())
    attributes["merge_notes"] = fmt::format("journals disagree on {}", fmt::join(disputed, ", "));
  return attributes;
}

}  // namespace

MergeSummary merge_journals(const std::filesystem::path& output,
                            std::span<const std::filesystem::path> journals,
                            const Vocabulary& vocabulary) {
  check_writable(output);
  MergeSummary summary;
  std::map<std::string, PointRecord> by_hash;
  Sayings sayings;
  for (const auto& folder : journals) {
    const Journal journal = Journal::open(folder);
    JournalAttributes said = journal.load_attributes();
    if (!said.problem.empty()) summary.problems.push_back(std::move(said.problem));
    for (const auto& [name, value] : said.attributes) sayings[name].insert(value);
    JournalContents contents = journal.load_all();
    std::ranges::move(contents.problems, std::back_inserter(summary.problems));
    for (PointRecord& record : contents.records) {
      const auto [place, is_new] = by_hash.try_emplace(record.point_hash, record);
      if (is_new) continue;
      ++summary.n_duplicates;
      if (is_better(record, place->second)) place->second = std::move(record);
    }
  }
  const std::vector<PointRecord> records = in_order(std::move(by_hash));
  summary.n_points = records.size();
  write_result(output, records, agree(sayings), vocabulary);
  return summary;
}

}  // namespace kvmeter

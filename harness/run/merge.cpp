// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "harness/core/error.hpp"
#include "harness/core/tell.hpp"
#include "harness/record/journal.hpp"
#include "harness/record/merge.hpp"
#include "harness/record/result_file.hpp"
#include "harness/run/commands.hpp"
#include "harness/run/vocabulary.hpp"

namespace kvmeter::run {

int merge(const std::filesystem::path& output, const std::vector<std::filesystem::path>& journals) {
  check_replaceable(output);
  for (const std::filesystem::path& journal : journals) {
    const JournalContents contents = Journal::open(journal).load_all();
    if (!contents.records.empty()) continue;
    for (const std::string& problem : contents.problems) tell("kvmeter: {}\n", problem);
    throw UsageError(fmt::format("{}: holds no {}points; a journal is a folder OUT.h5.journal",
                                 journal.string(), contents.problems.empty() ? "" : "sound "));
  }
  const MergeSummary summary = merge_journals(output, journals, vocabulary());
  for (const std::string& problem : summary.problems) tell("kvmeter: {}\n", problem);
  fmt::print("{}: {} points from {} journal{}, {} of them in several\n", output.string(),
             summary.n_points, journals.size(), journals.size() == 1 ? "" : "s",
             summary.n_duplicates);
  return 0;
}

}  // namespace kvmeter::run

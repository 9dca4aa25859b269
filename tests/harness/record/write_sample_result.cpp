// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// write_sample_result OUT.h5 [N]: a result file of made-up points, or of the first N of them, for
// tests of what reads such files.
#include <cstdio>
#include <cstdlib>

#include "harness/core/error.hpp"
#include "harness/record/result_file.hpp"
#include "tests/harness/record/made_up_records.hpp"

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fputs("usage: write_sample_result OUT.h5 [N]\n", stderr);
    return 1;
  }
  try {
    auto records = kvmeter::test::made_up_records();
    if (argc == 3) records.resize(std::strtoul(argv[2], nullptr, 10));
    kvmeter::write_result(argv[1], records, kvmeter::test::made_up_attributes(),
                          kvmeter::test::made_up_vocabulary());
  } catch (const kvmeter::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

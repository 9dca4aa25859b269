// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// print_schema > results/SCHEMA.md: the document of the result schema, from its tables.
#include <cstdio>

#include "harness/record/schema.hpp"

int main() {
  std::fputs(kvmeter::schema_markdown().c_str(), stdout);
}

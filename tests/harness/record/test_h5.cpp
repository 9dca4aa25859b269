// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <type_traits>
#include <utility>

#include "harness/core/error.hpp"
#include "harness/record/h5.hpp"

using namespace kvmeter;
using Catch::Matchers::ContainsSubstring;

static_assert(std::is_nothrow_move_constructible_v<h5::File>);
static_assert(std::is_nothrow_move_assignable_v<h5::File>);
static_assert(!std::is_copy_constructible_v<h5::File>);

TEST_CASE("an HDF5 error names the file, the object and HDF5's reason", "[record]") {
  const h5::Silence silence;
  const h5::File file = h5::create_in_memory("some file");
  const auto first = h5::create_dataset<double>(file, "twice", {1, false});
  std::string message;
  try {
    h5::create_dataset<double>(file, "twice", {1, false});
  } catch (const Error& error) {
    message = error.what();
  }
  CHECK_THAT(message, ContainsSubstring("some file: cannot create 'twice'"));
  CHECK_THAT(message, ContainsSubstring("exists"));
  CHECK(message.find('\n') == std::string::npos);
}

TEST_CASE("a moved handle closes once, silence ends with its guard", "[record]") {
  H5E_auto2_t before = nullptr, during = nullptr, after = nullptr;
  void* data = nullptr;
  H5Eget_auto2(H5E_DEFAULT, &before, &data);
  {
    const h5::Silence silence;
    H5Eget_auto2(H5E_DEFAULT, &during, &data);
    h5::File file = h5::create_in_memory("one");
    const hid_t id = file.id();
    h5::File other = std::move(file);
    CHECK(other.id() == id);
    other = h5::create_in_memory("two");
    CHECK(H5Iis_valid(other.id()) > 0);
  }
  H5Eget_auto2(H5E_DEFAULT, &after, &data);
  CHECK(during == nullptr);
  CHECK(after == before);
}

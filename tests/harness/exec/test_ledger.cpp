// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/ledger.hpp"

#include <catch2/catch_test_macros.hpp>

#include "harness/core/error.hpp"
#include "harness/exec/views.hpp"

namespace kvmeter {
namespace {

using Bytes = Array1<std::byte, Kokkos::HostSpace>;

TEST_CASE("the ledger counts live and peak bytes by prefix and label", "[cpu]") {
  ledger().reset_peak();
  const std::int64_t others = ledger().live_bytes();
  const std::int64_t before = ledger().n_allocations();
  {
    const auto k = allocate<Bytes>(Kokkos::Serial(), "kvmeter::cache::k", 1000);
    CHECK(ledger().live_bytes(cache_area) == 1000);
    {
      const auto v = allocate<Bytes>(Kokkos::Serial(), "kvmeter::cache::v", 504);
      const auto w = allocate<Bytes>(Kokkos::Serial(), "kvmeter::weights::w", 72);
      CHECK(ledger().live_bytes(cache_area) == 1504);
      CHECK(ledger().live_bytes(weights_area) == 72);
      CHECK(ledger().live_bytes("kvmeter::cache::v") == 504);
      CHECK(ledger().live_bytes("kvmeter::") >= 1576);
      CHECK(ledger().live_bytes() == others + 1576);
    }
    CHECK(ledger().live_bytes(cache_area) == 1000);
    CHECK(ledger().peak_bytes(cache_area) == 1504);
    CHECK(ledger().peak_bytes() == others + 1576);
  }
  CHECK(ledger().live_bytes(cache_area) == 0);
  CHECK(ledger().n_allocations() == before + 3);
  CHECK(ledger().by_label().at("kvmeter::cache::v").peak_bytes == 504);
  ledger().reset_peak();
  CHECK(ledger().peak_bytes(cache_area) == 0);
  CHECK(ledger().live_bytes(activations_area) == 0);
}

TEST_CASE("Kokkos rounds what it allocates for a View up to 8 bytes", "[cpu]") {
  ledger();  // listens from here on
  const auto odd = allocate<Bytes>(Kokkos::Serial(), "kvmeter::test::odd", 13);
  CHECK(ledger().live_bytes("kvmeter::test::odd") == 16);
}

TEST_CASE("memory that the ledger did not see allocated may be freed", "[cpu]") {
  const std::int64_t live = ledger().live_bytes();
  const int unseen = 0;
  ledger().on_deallocate(&unseen);
  CHECK(ledger().live_bytes() == live);
}

struct AddOne {
  Array1<double, Kokkos::HostSpace> x;
  KOKKOS_FUNCTION void operator()(int i) const { x(i) += 1; }
  KOKKOS_FUNCTION void operator()(int i, double& sum) const { sum += x(i); }
};

TEST_CASE("an audit counts kernels, copies, fences and allocations", "[cpu]") {
  const Kokkos::Serial exec;
  const auto x = allocate<Array1<double, Kokkos::HostSpace>>(exec, "kvmeter::test::x", 4);
  const auto y = allocate<Array1<double, Kokkos::HostSpace>>(exec, "kvmeter::test::y", 4);
  const auto work = [&] {
    const Kokkos::RangePolicy<Kokkos::Serial> all(exec, 0, 4);
    Kokkos::parallel_for("kvmeter::test::for", all, AddOne{x});
    double sum = 0;
    Kokkos::parallel_reduce("kvmeter::test::reduce", all, AddOne{x}, sum);
    Kokkos::deep_copy(exec, y, x);
    exec.fence("kvmeter::test::fence");
    allocate<Bytes>(exec, "kvmeter::test::scratch", 8);
  };
  AuditCounts counts;
  {
    const Audit audit;
    CHECK_THROWS_AS(Audit(), Error);
    work();
    work();
    counts = audit.counts();
  }
  work();
  CHECK(counts.kernels == Counts{{"kvmeter::test::for", 2}, {"kvmeter::test::reduce", 2}});
  CHECK(counts.copies == Counts{{"kvmeter::test::y <- kvmeter::test::x", 2}});
  CHECK(counts.fences.at("kvmeter::test::fence") == 2);
  CHECK(counts.allocations.at("kvmeter::test::scratch") ==
        2);  // Kokkos may make a scratch of its own
  CHECK(AuditCounts::total(counts.kernels) == 4);
}

namespace tools = Kokkos::Tools::Experimental;
int n_seen_by_tool = 0;

TEST_CASE("an audit calls a tool of the user and gives its callbacks back", "[cpu]") {
  const tools::EventSet before = tools::get_callbacks();
  tools::set_begin_fence_callback(
      [](const char*, std::uint32_t, std::uint64_t*) { ++n_seen_by_tool; });
  {
    const Audit audit;
    Kokkos::Serial().fence("kvmeter::test::fence");
    CHECK(audit.counts().fences.at("kvmeter::test::fence") == 1);
  }
  Kokkos::Serial().fence("kvmeter::test::fence");
  tools::set_callbacks(before);
  CHECK(n_seen_by_tool == 2);
}

}  // namespace
}  // namespace kvmeter

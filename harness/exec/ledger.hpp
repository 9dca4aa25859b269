// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// What Kokkos allocated, by label, as Kokkos' own tools interface reports it; and, in an Audit
// scope, which kernels, copies, fences and allocations happened. Callbacks that a tool of the user
// (KOKKOS_TOOLS_LIBS) has set go on being called. Nothing here knows what a label stands for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace kvmeter {

/// Areas of the labels kvmeter::<area>::<thing>.
inline constexpr std::string_view weights_area = "kvmeter::weights::";
inline constexpr std::string_view cache_area = "kvmeter::cache::";
inline constexpr std::string_view activations_area = "kvmeter::activations::";

/// Bytes under a label or a prefix of labels: now, and the most since the last reset_peak.
struct Tally {
  std::int64_t live_bytes = 0;
  std::int64_t peak_bytes = 0;
};

/// The allocations of this process. Kokkos rounds those of Views up to 8 bytes. Thread-safe.
class Ledger {
 public:
  /// `prefix` is "" for everything, a prefix that ends in "::", or a whole label. One under which
  /// nothing was allocated has 0 bytes.
  [[nodiscard]] std::int64_t live_bytes(std::string_view prefix = "") const;
  [[nodiscard]] std::int64_t peak_bytes(std::string_view prefix = "") const;

  /// Allocations since install, freed ones included.
  [[nodiscard]] std::int64_t n_allocations() const;

  /// Lets every peak start again at what is live now.
  void reset_peak();

  /// Every label that was ever allocated.
  [[nodiscard]] std::map<std::string, Tally> by_label() const;

  void on_allocate(std::string_view label, const void* address, std::int64_t bytes);
  void on_deallocate(const void* address);  // one that the ledger did not see allocated is ignored

 private:
  struct Allocation {
    std::string label;
    std::int64_t bytes;
  };
  void add(std::string_view label, std::int64_t bytes);

  mutable std::mutex m_mutex;
  std::map<const void*, Allocation> m_live;
  std::map<std::string, Tally, std::less<>> m_prefixes;  // "", "kvmeter::", "kvmeter::cache::"
  std::map<std::string, Tally, std::less<>> m_labels;
  std::int64_t m_n_allocations = 0;
};

/// The ledger of this process, listening from the first call on. \pre Kokkos is initialized.
Ledger& ledger();

/// How often something happened, by label; a copy's label is "destination <- source".
using Counts = std::map<std::string, std::int64_t>;

struct AuditCounts {
  Counts kernels;
  Counts copies;
  Counts fences;
  Counts allocations;

  [[nodiscard]] static std::int64_t total(const Counts& counts);
};

/// Counts what Kokkos does while it lives. Not for timed runs: with it, Kokkos fences the device
/// around every kernel (those fences are not counted). One at a time.
class Audit {
 public:
  Audit();
  ~Audit();
  Audit(const Audit&) = delete;
  Audit& operator=(const Audit&) = delete;

  [[nodiscard]] AuditCounts counts() const;

 private:
  AuditCounts m_counts;
};

}  // namespace kvmeter

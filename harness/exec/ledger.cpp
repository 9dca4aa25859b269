// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/ledger.hpp"

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <numeric>

#include "harness/core/error.hpp"

namespace kvmeter {
namespace {

namespace tools = Kokkos::Tools::Experimental;
using Kokkos::Tools::SpaceHandle;

// Tools callbacks are plain functions, so what they write to is reachable from here. None of it is
// a View.
struct Listener {
  tools::EventSet before_ledger{};  // what a tool of the user had set
  tools::EventSet before_audit{};
  std::mutex mutex;  // of `audit`
  AuditCounts* audit = nullptr;
};

Listener& listener() {
  static Listener instance;
  return instance;
}

void count(Counts AuditCounts::*counts, const std::string& label) {
  const std::lock_guard lock(listener().mutex);
  if (listener().audit != nullptr) ++(listener().audit->*counts)[label];
}

void on_allocate(SpaceHandle space, const char* label, const void* address, std::uint64_t bytes) {
  ledger().on_allocate(label, address, static_cast<std::int64_t>(bytes));
  count(&AuditCounts::allocations, label);
  if (const auto next = listener().before_ledger.allocate_data) next(space, label, address, bytes);
}

void on_deallocate(SpaceHandle space, const char* label, const void* address, std::uint64_t bytes) {
  ledger().on_deallocate(address);
  if (const auto next = listener().before_ledger.deallocate_data)
    next(space, label, address, bytes);
}

void on_for(const char* label, std::uint32_t device, std::uint64_t* id) {
  count(&AuditCounts::kernels, label);
  if (const auto next = listener().before_audit.begin_parallel_for) next(label, device, id);
}

void on_reduce(const char* label, std::uint32_t device, std::uint64_t* id) {
  count(&AuditCounts::kernels, label);
  if (const auto next = listener().before_audit.begin_parallel_reduce) next(label, device, id);
}

void on_scan(const char* label, std::uint32_t device, std::uint64_t* id) {
  count(&AuditCounts::kernels, label);
  if (const auto next = listener().before_audit.begin_parallel_scan) next(label, device, id);
}

void on_fence(const char* label, std::uint32_t device, std::uint64_t* id) {
  // Kokkos' own, around kernels because someone listens.
  if (std::string_view(label).find("Kokkos Profile Tool Fence") == std::string_view::npos)
    count(&AuditCounts::fences, label);
  if (const auto next = listener().before_audit.begin_fence) next(label, device, id);
}

void on_copy(SpaceHandle to, const char* to_label, const void* to_address, SpaceHandle from,
             const char* from_label, const void* from_address, std::uint64_t bytes) {
  count(&AuditCounts::copies, std::string(to_label) + " <- " + from_label);
  if (const auto next = listener().before_audit.begin_deep_copy)
    next(to, to_label, to_address, from, from_label, from_address, bytes);
}

/// Calls function(prefix) for "", "a::", "a::b::" of the label "a::b::c".
template <class Function>
void for_each_prefix(std::string_view label, Function&& function) {
  function(std::string_view());
  for (auto at = label.find("::"); at != std::string_view::npos; at = label.find("::", at + 2))
    function(label.substr(0, at + 2));
}

Tally& entry(std::map<std::string, Tally, std::less<>>& tallies, std::string_view name) {
  const auto found = tallies.find(name);
  return found != tallies.end() ? found->second : tallies[std::string(name)];
}

void change(Tally& tally, std::int64_t bytes) {
  tally.live_bytes += bytes;
  tally.peak_bytes = std::max(tally.peak_bytes, tally.live_bytes);
}

/// The tally of a prefix or label, zeros where there is none.
template <class Map>
Tally lookup(const Map& prefixes, const Map& labels, std::string_view name) {
  const Map& map = name.empty() || name.ends_with("::") ? prefixes : labels;
  const auto found = map.find(name);
  return found == map.end() ? Tally{} : found->second;
}

}  // namespace

void Ledger::add(std::string_view label, std::int64_t bytes) {
  change(entry(m_labels, label), bytes);
  for_each_prefix(label,
                  [&](std::string_view prefix) { change(entry(m_prefixes, prefix), bytes); });
}

void Ledger::on_allocate(std::string_view label, const void* address, std::int64_t bytes) {
  const std::lock_guard lock(m_mutex);
  ++m_n_allocations;
  m_live[address] = {std::string(label), bytes};
  add(label, bytes);
}

void Ledger::on_deallocate(const void* address) {
  const std::lock_guard lock(m_mutex);
  const auto found = m_live.find(address);
  if (found == m_live.end()) return;
  add(found->second.label, -found->second.bytes);
  m_live.erase(found);
}

std::int64_t Ledger::live_bytes(std::string_view prefix) const {
  const std::lock_guard lock(m_mutex);
  return lookup(m_prefixes, m_labels, prefix).live_bytes;
}

std::int64_t Ledger::peak_bytes(std::string_view prefix) const {
  const std::lock_guard lock(m_mutex);
  return lookup(m_prefixes, m_labels, prefix).peak_bytes;
}

std::int64_t Ledger::n_allocations() const {
  const std::lock_guard lock(m_mutex);
  return m_n_allocations;
}

void Ledger::reset_peak() {
  const std::lock_guard lock(m_mutex);
  for (auto* tallies : {&m_prefixes, &m_labels})
    for (auto& [name, tally] : *tallies) tally.peak_bytes = tally.live_bytes;
}

std::map<std::string, Tally> Ledger::by_label() const {
  const std::lock_guard lock(m_mutex);
  return {m_labels.begin(), m_labels.end()};
}

Ledger& ledger() {
  static Ledger instance;
  static const bool listening = [] {
    KVMETER_EXPECTS(Kokkos::is_initialized(), "the ledger was asked for before Kokkos started");
    listener().before_ledger = tools::get_callbacks();
    tools::set_allocate_data_callback(on_allocate);
    tools::set_deallocate_data_callback(on_deallocate);
    return true;
  }();
  static_cast<void>(listening);
  return instance;
}

std::int64_t AuditCounts::total(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& entry) { return sum + entry.second; });
}

Audit::Audit() {
  ledger();
  Listener& to = listener();
  {
    const std::lock_guard lock(to.mutex);
    KVMETER_EXPECTS(to.audit == nullptr, "an audit within an audit");
    to.audit = &m_counts;
  }
  to.before_audit = tools::get_callbacks();
  tools::set_begin_parallel_for_callback(on_for);
  tools::set_begin_parallel_reduce_callback(on_reduce);
  tools::set_begin_parallel_scan_callback(on_scan);
  tools::set_begin_fence_callback(on_fence);
  tools::set_begin_deep_copy_callback(on_copy);
}

Audit::~Audit() {
  tools::set_callbacks(listener().before_audit);
  const std::lock_guard lock(listener().mutex);
  listener().audit = nullptr;
}

AuditCounts Audit::counts() const {
  const std::lock_guard lock(listener().mutex);
  return m_counts;
}

}  // namespace kvmeter

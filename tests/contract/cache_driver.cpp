// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/cache_driver.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <utility>

#include "tests/support/all_close.hpp"

namespace kvmeter::test {
namespace {

/// One element of K and of V: index counts heads, then channels.
template <class MemorySpace>
struct ReadRow {
  LayerCache cache;
  std::int32_t slot;
  std::int32_t position;
  Array2<float, MemorySpace> values;  // [2, n_kv_heads * head_dim]

  KOKKOS_INLINE_FUNCTION void operator()(std::int32_t index) const {
    const std::int32_t head = index / cache.head_dim;
    const std::int32_t channel = index % cache.head_dim;
    visit_codec(cache.k_codec, [&](auto codec) {
      values(0, index) = codec::load_element<decltype(codec)>(cache.k_row(slot, head, position),
                                                              channel, cache.k_format());
    });
    visit_codec(cache.v_codec, [&](auto codec) {
      values(1, index) = codec::load_element<decltype(codec)>(cache.v_row(slot, head, position),
                                                              channel, cache.v_format());
    });
  }
};

}  // namespace

template <class Exec>
CacheDriver<Exec>::CacheDriver(const Combination& combination, CacheSpec spec,
                               std::int64_t max_rows)
    : combination_(combination),
      spec_([&] {
        spec.fill = std::byte{0xff};
        return spec;
      }()),
      cache_(make_cache<Exec>(exec_, combination.recipe(), spec_)),
      plan_buffer_(exec_, max_rows, spec_.batch, cache_->tile_queries()),
      sequences_(static_cast<std::size_t>(spec_.batch)) {}

template <class Exec>
StepPlan CacheDriver<Exec>::make_plan(const std::vector<StepPart>& parts) const {
  StepPlan plan;
  for (const StepPart& part : parts) {
    const std::int64_t held = cache_->keeps_past() ? stored(part.slot) : 0;
    const std::int64_t end = stored(part.slot) + part.n_tokens;
    plan.add(part.slot, static_cast<std::int32_t>(held),
             std::vector<std::int32_t>(static_cast<std::size_t>(end - held), 0));
  }
  return plan;
}

/// q, k and v of the plan's rows side by side, as the projection of a decoder leaves them.
template <class Exec>
std::vector<float> CacheDriver<Exec>::projected(const StepPlan& plan, std::size_t layer) const {
  std::vector<float> values;
  for (const StepSequence& s : plan.sequences) {
    const LayerRows& rows = sequences_.at(static_cast<std::size_t>(s.slot)).rows.at(layer);
    for (std::int64_t i = s.first_position; i < s.first_position + s.n_tokens; ++i)
      for (const oracle::Matrix* matrix : {&rows.q, &rows.k, &rows.v}) {
        const auto row = matrix->row(i);
        values.insert(values.end(), row.begin(), row.end());
      }
  }
  return values;
}

/// Stores K and V of the plan's rows. \return their q
template <class Exec>
ProjectedRows<typename Exec::memory_space> CacheDriver<Exec>::append(
    std::int64_t layer, const StepPlan& plan, const DevicePlan<MemorySpace>& device_plan) {
  const std::int64_t q_dim = spec_.n_heads * spec_.head_dim;
  const std::int64_t kv_dim = spec_.n_kv_heads * spec_.head_dim;
  const auto qkv =
      to_device(exec_, projected(plan, static_cast<std::size_t>(layer)), plan.n_rows());
  const auto columns = [&](std::int64_t first, std::int64_t n) -> ProjectedRows<MemorySpace> {
    return Kokkos::subview(qkv, Kokkos::ALL,
                           std::pair<std::int64_t, std::int64_t>(first, first + n));
  };
  cache_->append(exec_, layer, columns(q_dim, kv_dim), columns(q_dim + kv_dim, kv_dim),
                 device_plan);
  return columns(0, q_dim);
}

template <class Exec>
Array2<float, typename Exec::memory_space> CacheDriver<Exec>::run_layer(
    std::int64_t layer, const StepPlan& plan, const DevicePlan<MemorySpace>& device_plan) {
  const auto q = append(layer, plan, device_plan);
  const std::vector<float> nan(q.extent(0) * q.extent(1), std::nanf(""));
  const auto out = to_device(exec_, nan, plan.n_rows());
  cache_->attend(exec_, layer, q, device_plan, out);
  exec_.fence("kvmeter::test: q goes away");
  return out;
}

template <class Exec>
void CacheDriver<Exec>::append_only(const std::vector<StepPart>& parts) {
  const StepPlan plan = make_plan(parts);
  cache_->reserve(exec_, plan);
  const auto device_plan = plan_buffer_.upload(exec_, plan);
  for (std::int64_t layer = 0; layer < spec_.n_layers; ++layer) {
    append(layer, plan, device_plan);
    exec_.fence("kvmeter::test: k and v go away");
  }
  for (const StepPart& part : parts) sequence(part.slot).n_stored += part.n_tokens;
}

template <class Exec>
std::vector<PartOutput> CacheDriver<Exec>::step(const std::vector<StepPart>& parts) {
  const std::int64_t most = cache_->keeps_past() ? spec_.max_step_tokens : 0;
  if (most == 0) return one_step(parts);
  std::vector<PartOutput> outputs(parts.size());
  for (auto& output : outputs) output.resize(static_cast<std::size_t>(spec_.n_layers));
  for (std::int64_t done = 0;; done += most) {
    std::vector<StepPart> now;
    std::vector<std::size_t> which;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].n_tokens <= done) continue;
      now.push_back({parts[i].slot, std::min(most, parts[i].n_tokens - done)});
      which.push_back(i);
    }
    if (now.empty()) return outputs;
    const auto got = one_step(now);
    for (std::size_t i = 0; i < now.size(); ++i)
      for (std::size_t layer = 0; layer < got[i].size(); ++layer)
        for (std::int64_t row = 0; row < got[i][layer].rows; ++row)
          outputs[which[i]][layer].append_row(got[i][layer].row(row));
  }
}

template <class Exec>
std::vector<PartOutput> CacheDriver<Exec>::one_step(const std::vector<StepPart>& parts) {
  const StepPlan plan = make_plan(parts);
  cache_->reserve(exec_, plan);
  const auto device_plan = plan_buffer_.upload(exec_, plan);
  std::vector<PartOutput> outputs(parts.size());
  for (std::int64_t layer = 0; layer < spec_.n_layers; ++layer) {
    const auto values = to_host(exec_, run_layer(layer, plan, device_plan));
    const oracle::Matrix all(plan.n_rows(), spec_.n_heads * spec_.head_dim,
                             {values.begin(), values.end()});
    std::int64_t end = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      end += plan.sequences[i].n_tokens;
      outputs[i].push_back(rows_of(all, end - parts[i].n_tokens, parts[i].n_tokens));
    }
  }
  for (const StepPart& part : parts) sequence(part.slot).n_stored += part.n_tokens;
  return outputs;
}

template <class Exec>
std::vector<PartOutput> CacheDriver<Exec>::checked_step(const std::vector<StepPart>& parts) {
  auto outputs = step(parts);
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (std::int64_t layer = 0; layer < spec_.n_layers; ++layer) {
      const oracle::Matrix& out = outputs[i][static_cast<std::size_t>(layer)];
      const Sequence& held = sequence(parts[i].slot);
      const Reference expected =
          reference_of(combination_, spec_, held.rows.at(static_cast<std::size_t>(layer)),
                       held.n_stored, parts[i].n_tokens, layer);
      INFO("slot " << parts[i].slot << ", layer " << layer << ", tokens " << parts[i].n_tokens
                   << " of " << stored(parts[i].slot));
      CHECK_THAT(out.data, AllClose(expected.values.data, expected.bounds.data,
                                    {out.rows, spec_.n_heads, spec_.head_dim}));
    }
  return outputs;
}

template <class Exec>
typename CacheDriver<Exec>::StoredRow CacheDriver<Exec>::stored_row(std::int32_t slot,
                                                                    std::int64_t layer,
                                                                    std::int64_t position) {
  const LayerCache handle = cache_->layer(layer);
  const std::int32_t n = handle.n_kv_heads * handle.head_dim;
  const ReadRow<MemorySpace> kernel{
      handle, slot, static_cast<std::int32_t>(position),
      allocate<Array2<float, MemorySpace>>(exec_, "kvmeter::test::row", 2, n)};
  Kokkos::parallel_for("kvmeter::test::read_row", Kokkos::RangePolicy<Exec>(exec_, 0, n), kernel);
  const auto values = to_host(exec_, kernel.values);
  return {{values.begin(), values.begin() + n}, {values.begin() + n, values.end()}};
}

#define KVMETER_INSTANTIATE(Exec) template class CacheDriver<Exec>;
KVMETER_FOR_EACH_EXEC(KVMETER_INSTANTIATE)
#undef KVMETER_INSTANTIATE

}  // namespace kvmeter::test

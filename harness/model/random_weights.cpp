// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "harness/exec/spaces.hpp"
#include "harness/model/detail/random_value.hpp"
#include "harness/model/detail/weights_layout.hpp"
#include "harness/model/weights.hpp"

namespace kvmeter {
namespace detail {

/// values[i] = round_to<T>(random_value(bits(i), unit)), by blocks of pairs.
template <class Exec, class T>
struct FillRandom {
  using Policy = Kokkos::TeamPolicy<Exec>;
  static constexpr std::int64_t block_pairs = 8192;

  T* values;  // [n_values]
  std::int64_t n_values;
  std::uint64_t stream;
  float unit;

  KOKKOS_FUNCTION void operator()(const typename Policy::member_type& team) const {
    const std::int64_t n_pairs = n_values / 2;
    const std::int64_t first = team.league_rank() * block_pairs;
    const std::int64_t count = first + block_pairs < n_pairs ? block_pairs : n_pairs - first;
    T* const block = values + 2 * first;
    const std::uint64_t start = stream + static_cast<std::uint64_t>(first) * golden_gamma;
    const float scale = unit;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, count), [=](std::int64_t pair) {
      const std::uint64_t bits = random_pair(start, static_cast<std::uint64_t>(pair));
      block[2 * pair] = round_to<T>(random_value(static_cast<std::uint32_t>(bits), scale));
      block[2 * pair + 1] =
          round_to<T>(random_value(static_cast<std::uint32_t>(bits >> 32), scale));
    });
    const bool is_last = first + count == n_pairs;
    if (is_last && n_values % 2 != 0) {
      const std::uint64_t bits = random_pair(stream, static_cast<std::uint64_t>(n_pairs));
      Kokkos::single(Kokkos::PerTeam(team), [&] {
        values[n_values - 1] = round_to<T>(random_value(static_cast<std::uint32_t>(bits), scale));
      });
    }
  }
};

}  // namespace detail

namespace {

constexpr double bias_deviation = 0.02;
constexpr std::uint64_t most_roles = 64;

std::uint64_t stream_of(std::uint64_t seed, const ModelTensor& tensor) {
  const auto id = static_cast<std::uint64_t>(tensor.layer + 1) * most_roles +
                  static_cast<std::uint64_t>(tensor.role);
  return detail::random_stream(seed, id);
}

/// The factor of random_value that gives the tensor's standard deviation: that of odd multiples
/// below 2^24 is 2^24 / sqrt(3).
float unit_of(const ModelTensor& tensor, const ModelConfig& config) {
  double deviation = bias_deviation;
  if (kind_of(tensor.role) == TensorKind::matrix)
    deviation = 1 / std::sqrt(static_cast<double>(tensor.in_dim));
  if (tensor.role == Role::out || tensor.role == Role::down)
    deviation /= std::sqrt(2.0 * static_cast<double>(config.n_layers));
  return static_cast<float>(deviation * std::sqrt(3.0) / (1 << 24));
}

template <class Exec>
struct FillMatrix {
  const Exec& exec;
  WeightMatrix<typename Exec::memory_space>& matrix;
  const ModelTensor& tensor;
  std::uint64_t stream;
  float unit;

  template <class T>
  void operator()(ElementTag<T>) const {
    using Kernel = detail::FillRandom<Exec, T>;
    T* const place = reinterpret_cast<T*>(matrix.storage.data()) + tensor.first_row * tensor.in_dim;
    const std::int64_t n_pairs = tensor.count() / 2;
    const auto n_blocks = static_cast<int>(n_pairs / Kernel::block_pairs + 1);
    Kokkos::parallel_for("kvmeter::weights::random",
                         typename Kernel::Policy(exec, n_blocks, Kokkos::AUTO),
                         Kernel{place, tensor.count(), stream, unit});
  }
};

std::vector<float> random_vector(const ModelTensor& tensor, std::uint64_t stream, float unit) {
  std::vector<float> values(static_cast<std::size_t>(tensor.count()), 1.0F);
  if (kind_of(tensor.role) == TensorKind::norm) return values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t bits = detail::random_pair(stream, i / 2);
    values[i] =
        detail::random_value(static_cast<std::uint32_t>(i % 2 == 0 ? bits : bits >> 32), unit);
  }
  return values;
}

}  // namespace

template <class Exec>
ModelWeights<typename Exec::memory_space> random_weights(const Exec& exec,
                                                         const ModelConfig& config, Element element,
                                                         std::uint64_t seed) {
  const std::vector<ModelTensor> tensors = model_tensors(config);
  auto weights = detail::allocate_weights(exec, config, tensors, element);
  for (const ModelTensor& tensor : tensors) {
    const std::uint64_t stream = stream_of(seed, tensor);
    const float unit = unit_of(tensor, config);
    if (kind_of(tensor.role) == TensorKind::matrix) {
      visit_element(element, FillMatrix<Exec>{exec, detail::matrix_of<Exec>(weights, tensor),
                                              tensor, stream, unit});
    } else {
      std::vector<float> values = random_vector(tensor, stream, unit);
      detail::upload(exec, values, element, weights, tensor);
    }
  }
  detail::tie_head(config, weights);
  exec.fence("kvmeter::weights::random: the weights are complete");
  return weights;
}

#define KVMETER_INSTANTIATE(Exec)                                                           \
  template ModelWeights<Exec::memory_space> random_weights(const Exec&, const ModelConfig&, \
                                                           Element, std::uint64_t);
KVMETER_FOR_EACH_EXEC(KVMETER_INSTANTIATE)
#undef KVMETER_INSTANTIATE

}  // namespace kvmeter

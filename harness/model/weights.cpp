// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/weights.hpp"

#include <algorithm>

#include "harness/exec/spaces.hpp"
#include "harness/model/checkpoint.hpp"
#include "harness/model/detail/load_float.hpp"
#include "harness/model/detail/weights_layout.hpp"
#include "harness/model/safetensors_floats.hpp"

namespace kvmeter {
namespace detail {

/// A range of rows of a checkpoint's tensor, [n_rows, row_length], and where they go in memory.
template <class T>
struct RowCopy {
  const std::byte* source;
  TensorType type;  // of the source: F32, F16, BF16
  std::int64_t n_rows;
  std::int64_t row_length;
  T* place;

  template <class Source>
  KOKKOS_FUNCTION T get(std::int64_t i) const {
    return round_to<T>(load_float<Source>(source, static_cast<std::size_t>(i)));
  }
};

/// place[i] = source[i], converted, by blocks.
template <class Exec, class T>
struct ConvertRows {
  using Policy = Kokkos::TeamPolicy<Exec>;
  static constexpr std::int64_t block_size = 16384;
  RowCopy<T> copy;

  KOKKOS_FUNCTION void operator()(const typename Policy::member_type& team) const {
    if (copy.type == TensorType::F32)
      run<float>(team);
    else if (copy.type == TensorType::F16)
      run<F16>(team);
    else
      run<BF16>(team);
  }

  template <class Source>
  KOKKOS_FUNCTION void run(const typename Policy::member_type& team) const {
    const std::int64_t first = team.league_rank() * block_size;
    const std::int64_t all = copy.n_rows * copy.row_length;
    const std::int64_t end = first + block_size < all ? first + block_size : all;
    const RowCopy<T> rows = copy;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, first, end),
                         [=](std::int64_t i) { rows.place[i] = rows.template get<Source>(i); });
  }
};

/// place[out * in_dim + row] = source[row * row_length + first_out + out], converted: `place` is
/// where the first of the source's rows goes, a column of the matrix [out_dim, in_dim].
template <class Exec, class T>
struct ConvertTransposed {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  RowCopy<T> copy;
  std::int64_t first_out;
  std::int64_t in_dim;

  KOKKOS_FUNCTION void operator()(std::int64_t out) const {
    if (copy.type == TensorType::F32)
      run<float>(out);
    else if (copy.type == TensorType::F16)
      run<F16>(out);
    else
      run<BF16>(out);
  }

  template <class Source>
  KOKKOS_FUNCTION void run(std::int64_t out) const {
    T* const row = copy.place + out * in_dim;
    for (std::int64_t i = 0; i < copy.n_rows; ++i)
      row[i] = copy.template get<Source>(i * copy.row_length + first_out + out);
  }
};

/// File bytes where kernels of Exec read them: the mapping itself, or a buffer on the device.
template <class Exec>
class Staging {
 public:
  using Buffer = Array1<std::byte, typename Exec::memory_space>;

  const std::byte* stage(const Exec& exec, std::span<const std::byte> bytes) {
    if constexpr (is_host_exec<Exec>) {
      return bytes.data();
    } else {
      if (m_buffer.extent(0) < bytes.size())
        m_buffer = allocate<Buffer>(exec, "kvmeter::weights::staging", bytes.size());
      using Host = Kokkos::View<const std::byte*, Kokkos::LayoutRight, Kokkos::HostSpace,
                                Kokkos::MemoryUnmanaged>;
      const Host host(bytes.data(), bytes.size());
      Kokkos::deep_copy(
          exec, Kokkos::subview(m_buffer, std::pair<std::size_t, std::size_t>(0, bytes.size())),
          host);
      return m_buffer.data();
    }
  }

 private:
  Buffer m_buffer;
};

}  // namespace detail

namespace {

// Resident at a time beside the weights: enough for the threads to share, little beside any model.
constexpr std::int64_t chunk_bytes = 16 << 20;

template <class Exec>
struct LoadMatrix {
  const Exec& exec;
  detail::Staging<Exec>& staging;
  WeightMatrix<typename Exec::memory_space>& matrix;
  const BoundTensor& tensor;

  /// By chunks of the file's rows, whose pages are given back as soon as they are converted.
  template <class T>
  void operator()(ElementTag<T>) const {
    const ModelTensor& model = tensor.model;
    const std::int64_t first = model.transposed ? 0 : model.file_first_out;
    const std::int64_t n_rows = model.transposed ? model.in_dim : model.out_dim;
    const std::int64_t row_length = model.transposed ? model.file_out_dim : model.in_dim;
    const std::int64_t row_bytes = row_length * bytes_of(tensor.file->type);
    const std::int64_t chunk_rows = std::max<std::int64_t>(1, chunk_bytes / row_bytes);
    T* const place = reinterpret_cast<T*>(matrix.storage.data()) + model.first_row * model.in_dim;
    for (std::int64_t row = 0; row < n_rows; row += chunk_rows) {
      const std::int64_t count = std::min(chunk_rows, n_rows - row);
      const auto bytes =
          tensor.file->data.subspan(static_cast<std::size_t>((first + row) * row_bytes),
                                    static_cast<std::size_t>(count * row_bytes));
      T* const chunk_place = place + (model.transposed ? row : row * row_length);
      launch(detail::RowCopy<T>{staging.stage(exec, bytes), tensor.file->type, count, row_length,
                                chunk_place});
      exec.fence("kvmeter::weights::load: the pages of the file are given back");
      detail::MappedFile::release(bytes);
    }
  }

  template <class T>
  void launch(const detail::RowCopy<T>& copy) const {
    const char* label = "kvmeter::weights::load";
    if (tensor.model.transposed) {
      using Kernel = detail::ConvertTransposed<Exec, T>;
      Kokkos::parallel_for(label, typename Kernel::Policy(exec, 0, tensor.model.out_dim),
                           Kernel{copy, tensor.model.file_first_out, tensor.model.in_dim});
    } else {
      using Kernel = detail::ConvertRows<Exec, T>;
      const std::int64_t n_blocks =
          (copy.n_rows * copy.row_length + Kernel::block_size - 1) / Kernel::block_size;
      Kokkos::parallel_for(label,
                           typename Kernel::Policy(exec, static_cast<int>(n_blocks), Kokkos::AUTO),
                           Kernel{copy});
    }
  }
};

}  // namespace

std::int64_t weights_bytes(const ModelConfig& config, Element element) {
  std::int64_t bytes = 0;
  for (const ModelTensor& tensor : model_tensors(config))
    bytes += tensor.count() *
             bytes_of(kind_of(tensor.role) == TensorKind::matrix ? element : Element::f32);
  return bytes;
}

template <class Exec>
ModelWeights<typename Exec::memory_space> load_weights(const Exec& exec, const ModelConfig& config,
                                                       const std::filesystem::path& folder,
                                                       Element element) {
  const Checkpoint checkpoint = Checkpoint::open(folder);
  const std::vector<BoundTensor> tensors = bind_tensors(config, checkpoint);  // before allocating
  auto weights = detail::allocate_weights(exec, config, model_tensors(config), element);
  detail::Staging<Exec> staging;
  for (const BoundTensor& tensor : tensors) {
    if (kind_of(tensor.model.role) == TensorKind::matrix) {
      auto& matrix = detail::matrix_of<Exec>(weights, tensor.model);
      visit_element(element, LoadMatrix<Exec>{exec, staging, matrix, tensor});
    } else {
      std::vector<float> values = read_floats(*tensor.file);
      const std::span<float> part =
          std::span(values).subspan(static_cast<std::size_t>(tensor.model.file_first_out),
                                    static_cast<std::size_t>(tensor.model.out_dim));
      detail::upload(exec, part, element, weights, tensor.model);
    }
  }
  detail::tie_head(config, weights);
  return weights;
}

#define KVMETER_INSTANTIATE(Exec)                                                         \
  template ModelWeights<Exec::memory_space> load_weights(const Exec&, const ModelConfig&, \
                                                         const std::filesystem::path&, Element);
KVMETER_FOR_EACH_EXEC(KVMETER_INSTANTIATE)
#undef KVMETER_INSTANTIATE

}  // namespace kvmeter

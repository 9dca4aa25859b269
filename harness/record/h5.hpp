// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// HDF5's C interface with owners, exceptions and no printing of its own; each call is wrapped once.
// It knows nothing of points or netCDF. Errors name the file, the object and HDF5's own message.
#pragma once

#include <fmt/format.h>
#include <hdf5.h>

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvmeter::h5 {

/// Owns one HDF5 identifier and closes it with `Close`.
template <herr_t (*Close)(hid_t)>
class Handle {
 public:
  Handle() = default;
  explicit Handle(hid_t id) noexcept : m_id(id) {}
  Handle(Handle&& other) noexcept : m_id(std::exchange(other.m_id, H5I_INVALID_HID)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(m_id, other.m_id);
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (m_id >= 0 && Close(m_id) < 0)
      std::fputs("kvmeter: HDF5 failed to close an object\n", stderr);
  }

  hid_t id() const noexcept { return m_id; }

 private:
  hid_t m_id = H5I_INVALID_HID;
};

using File = Handle<H5Fclose>;
using Dataset = Handle<H5Dclose>;
using Space = Handle<H5Sclose>;
using Type = Handle<H5Tclose>;
using Attr = Handle<H5Aclose>;
using Properties = Handle<H5Pclose>;

/// While one lives HDF5 prints nothing; every function here that can fail needs one around it.
class Silence {
 public:
  Silence();
  ~Silence();
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  H5E_auto2_t m_function = nullptr;
  void* m_data = nullptr;
};

/// HDF5's description of its last error, the innermost, on one line.
std::string last_error();

/// The element types that files use: int64, double, int8 and variable-length UTF-8 text.
template <class T>
struct Element;
template <>
struct Element<std::int64_t> {
  static hid_t memory() { return H5T_NATIVE_INT64; }
  static hid_t file() { return H5T_STD_I64LE; }
};
template <>
struct Element<double> {
  static hid_t memory() { return H5T_NATIVE_DOUBLE; }
  static hid_t file() { return H5T_IEEE_F64LE; }
};
template <>
struct Element<std::int8_t> {
  static hid_t memory() { return H5T_NATIVE_INT8; }
  static hid_t file() { return H5T_STD_I8LE; }
};

/// An empty file in memory, in the format of HDF5 1.8, with creation order tracked. Nothing touches
/// the disk: HDF5 cannot recover from a full one, see image().
/// \param name what errors call the file
File create_in_memory(const std::string& name);

/// The bytes that the file would have on disk.
std::string image(const File& file);

/// An existing file, to be read. Throws Error if it cannot be opened or is no HDF5 file.
File open_to_read(const std::string& name);

/// How a one-dimensional dataset is laid out.
struct Layout {
  std::uint64_t size = 0;   // elements
  bool compressed = false;  // deflate; of no use for variable-length text
};

/// An extensible one-dimensional dataset, the form in which netCDF-4 allows a size of zero.
template <class T>
Dataset create_dataset(const File& file, const std::string& name, Layout layout);
template <class T>
Dataset create_dataset(const File& file, const std::string& name, Layout layout, T fill);
Dataset create_text_dataset(const File& file, const std::string& name, Layout layout);

template <class T>
void write(const Dataset& dataset, std::span<const T> values);
void write(const Dataset& dataset, std::span<const std::string> values);

bool has_dataset(const File& file, const std::string& name);
Dataset open_dataset(const File& file, const std::string& name);

/// All elements of a one-dimensional dataset; numbers are converted from whatever type they have.
template <class T>
std::vector<T> read(const Dataset& dataset, const std::string& name);
/// The same of variable-length text.
std::vector<std::string> read_text(const Dataset& dataset, const std::string& name);

/// Attributes of a dataset, or of the root group through the file's identifier.
void write_attribute(hid_t object, const std::string& name, std::string_view text);
template <class T>
void write_attribute(hid_t object, const std::string& name, std::span<const T> values);

bool has_attribute(hid_t object, const std::string& name);
/// A text of fixed length, up to its first zero byte.
std::string read_text_attribute(hid_t object, const std::string& name);
template <class T>
std::vector<T> read_attribute(hid_t object, const std::string& name);

/// Dimension scales of HDF5's high-level interface.
void make_scale(const Dataset& dataset, const std::string& name);
void attach_scale(const Dataset& dataset, const Dataset& scale);

}  // namespace kvmeter::h5

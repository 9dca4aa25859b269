// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/record/h5.hpp"

#include <hdf5_hl.h>

#include <algorithm>

#include "harness/core/error.hpp"

namespace kvmeter::h5 {
namespace {

constexpr hsize_t kMostChunk = 1 << 16;  // elements
constexpr unsigned kDeflateLevel = 4;

std::string file_name(hid_t object) {
  std::string name(static_cast<std::size_t>(std::max<ssize_t>(H5Fget_name(object, nullptr, 0), 0)),
                   '\0');
  H5Fget_name(object, name.data(), name.size() + 1);
  return name;
}

/// Returns `result` unless it says failure. The message is taken before any other call clears it.
template <class Result>
Result checked(Result result, hid_t object, std::string_view name, std::string_view action) {
  if (result >= 0) return result;
  const std::string message = last_error();
  fail("{}: cannot {} '{}': {}", object >= 0 ? file_name(object) : "HDF5", action, name, message);
}

Properties properties(hid_t kind) {
  return Properties(checked(H5Pcreate(kind), H5I_INVALID_HID, "property list", "create"));
}

Type text_type(std::size_t size) {
  Type type(checked(H5Tcopy(H5T_C_S1), H5I_INVALID_HID, "text type", "copy"));
  checked(H5Tset_size(type.id(), size), H5I_INVALID_HID, "text type", "size");
  checked(H5Tset_cset(type.id(), H5T_CSET_UTF8), H5I_INVALID_HID, "text type", "set UTF-8 for");
  return type;
}

Space space_of(hsize_t size, hsize_t most) {
  return Space(checked(H5Screate_simple(1, &size, &most), H5I_INVALID_HID, "space", "create"));
}

Properties dataset_properties(const std::string& name, const Layout& layout) {
  Properties list = properties(H5P_DATASET_CREATE);
  const hsize_t chunk = std::clamp<hsize_t>(layout.size, 1, kMostChunk);
  const auto check = [&](herr_t result) { checked(result, H5I_INVALID_HID, name, "lay out"); };
  check(H5Pset_chunk(list.id(), 1, &chunk));
  check(H5Pset_obj_track_times(list.id(), false));  // the same records make the same file
  check(H5Pset_attr_creation_order(list.id(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
  if (layout.compressed) {
    check(H5Pset_shuffle(list.id()));
    check(H5Pset_deflate(list.id(), kDeflateLevel));
  }
  return list;
}

Dataset create(const File& file, const std::string& name, hid_t type, const Layout& layout,
               const Properties& list) {
  const Space space = space_of(layout.size, H5S_UNLIMITED);
  return Dataset(checked(
      H5Dcreate2(file.id(), name.c_str(), type, space.id(), H5P_DEFAULT, list.id(), H5P_DEFAULT),
      file.id(), name, "create"));
}

void write_raw(const Dataset& dataset, hid_t type, const void* data) {
  checked(H5Dwrite(dataset.id(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), dataset.id(),
          "dataset", "write");
}

void write_attribute_raw(hid_t object, const std::string& name, hid_t file_type, hid_t memory_type,
                         const Space& space, const void* data) {
  const Attr attribute(
      checked(H5Acreate2(object, name.c_str(), file_type, space.id(), H5P_DEFAULT, H5P_DEFAULT),
              object, name, "create attribute"));
  checked(H5Awrite(attribute.id(), memory_type, data), object, name, "write attribute");
}

std::size_t n_elements(const Space& space, hid_t object, const std::string& name) {
  return static_cast<std::size_t>(
      checked(H5Sget_simple_extent_npoints(space.id()), object, name, "measure"));
}

Space space_of(const Dataset& dataset, const std::string& name) {
  return Space(checked(H5Dget_space(dataset.id()), dataset.id(), name, "measure"));
}

Attr open_attribute(hid_t object, const std::string& name) {
  return Attr(checked(H5Aopen(object, name.c_str(), H5P_DEFAULT), object, name, "open attribute"));
}

herr_t keep_innermost(unsigned position, const H5E_error2_t* entry, void* message) {
  if (position == 0 && entry->desc != nullptr) *static_cast<std::string*>(message) = entry->desc;
  return 0;
}

}  // namespace

Silence::Silence() {
  H5Eget_auto2(H5E_DEFAULT, &m_function, &m_data);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Silence::~Silence() {
  H5Eset_auto2(H5E_DEFAULT, m_function, m_data);
}

std::string last_error() {
  std::string message = "no reason given";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, &message);
  std::ranges::replace(message, '\n', ' ');
  return message;
}

File create_in_memory(const std::string& name) {
  const Properties access = properties(H5P_FILE_ACCESS);
  const Properties creation = properties(H5P_FILE_CREATE);
  const auto check = [&](herr_t result) { checked(result, H5I_INVALID_HID, name, "set up"); };
  check(H5Pset_fapl_core(access.id(), std::size_t{1} << 20, false));
  // Not V18 at the low end: HDF5 1.10 makes images with a wrong checksum of its newer superblocks.
  check(H5Pset_libver_bounds(access.id(), H5F_LIBVER_EARLIEST, H5F_LIBVER_V18));
  const unsigned order = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;
  check(H5Pset_link_creation_order(creation.id(), order));
  check(H5Pset_attr_creation_order(creation.id(), order));
  check(H5Pset_obj_track_times(creation.id(), false));
  return File(checked(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, creation.id(), access.id()),
                      H5I_INVALID_HID, name, "create"));
}

std::string image(const File& file) {
  checked(H5Fflush(file.id(), H5F_SCOPE_GLOBAL), file.id(), "file", "flush");
  const ssize_t size =
      checked(H5Fget_file_image(file.id(), nullptr, 0), file.id(), "file", "measure");
  std::string bytes(static_cast<std::size_t>(size), '\0');
  checked(H5Fget_file_image(file.id(), bytes.data(), bytes.size()), file.id(), "file", "copy");
  return bytes;
}

File open_to_read(const std::string& name) {
  const hid_t id = H5Fopen(name.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (id < 0) fail("{}: cannot be opened as HDF5: {}", name, last_error());
  return File(id);
}

template <class T>
Dataset create_dataset(const File& file, const std::string& name, Layout layout) {
  return create(file, name, Element<T>::file(), layout, dataset_properties(name, layout));
}

template <class T>
Dataset create_dataset(const File& file, const std::string& name, Layout layout, T fill) {
  const Properties list = dataset_properties(name, layout);
  checked(H5Pset_fill_value(list.id(), Element<T>::memory(), &fill), file.id(), name,
          "set the fill value of");
  return create(file, name, Element<T>::file(), layout, list);
}

Dataset create_text_dataset(const File& file, const std::string& name, Layout layout) {
  return create(file, name, text_type(H5T_VARIABLE).id(), layout, dataset_properties(name, layout));
}

template <class T>
void write(const Dataset& dataset, std::span<const T> values) {
  if (!values.empty()) write_raw(dataset, Element<T>::memory(), values.data());
}

void write(const Dataset& dataset, std::span<const std::string> values) {
  std::vector<const char*> pointers;
  for (const std::string& value : values) pointers.push_back(value.c_str());
  if (!pointers.empty()) write_raw(dataset, text_type(H5T_VARIABLE).id(), pointers.data());
}

bool has_dataset(const File& file, const std::string& name) {
  return H5Lexists(file.id(), name.c_str(), H5P_DEFAULT) > 0;
}

Dataset open_dataset(const File& file, const std::string& name) {
  return Dataset(checked(H5Dopen2(file.id(), name.c_str(), H5P_DEFAULT), file.id(), name, "open"));
}

template <class T>
std::vector<T> read(const Dataset& dataset, const std::string& name) {
  std::vector<T> values(n_elements(space_of(dataset, name), dataset.id(), name));
  if (values.empty()) return values;
  checked(H5Dread(dataset.id(), Element<T>::memory(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
          dataset.id(), name, "read");
  return values;
}

std::vector<std::string> read_text(const Dataset& dataset, const std::string& name) {
  const Space space = space_of(dataset, name);
  std::vector<char*> pointers(n_elements(space, dataset.id(), name));
  if (pointers.empty()) return {};
  const Type type = text_type(H5T_VARIABLE);
  checked(H5Dread(dataset.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, pointers.data()),
          dataset.id(), name, "read");
  std::vector<std::string> texts;
  for (const char* text : pointers) texts.emplace_back(text == nullptr ? "" : text);
  checked(H5Dvlen_reclaim(type.id(), space.id(), H5P_DEFAULT, pointers.data()), dataset.id(), name,
          "free");
  return texts;
}

void write_attribute(hid_t object, const std::string& name, std::string_view text) {
  // A fixed-length string, as netCDF writes its text attributes; a length of zero is not possible.
  const std::string padded = text.empty() ? std::string(1, '\0') : std::string(text);
  const Type type = text_type(padded.size());
  const Space scalar(checked(H5Screate(H5S_SCALAR), object, name, "create space of"));
  write_attribute_raw(object, name, type.id(), type.id(), scalar, padded.data());
}

template <class T>
void write_attribute(hid_t object, const std::string& name, std::span<const T> values) {
  const Space space = space_of(values.size(), values.size());
  write_attribute_raw(object, name, Element<T>::file(), Element<T>::memory(), space, values.data());
}

bool has_attribute(hid_t object, const std::string& name) {
  return H5Aexists(object, name.c_str()) > 0;
}

std::string read_text_attribute(hid_t object, const std::string& name) {
  const Attr attribute = open_attribute(object, name);
  const Type type(checked(H5Aget_type(attribute.id()), object, name, "open attribute"));
  if (H5Tget_class(type.id()) != H5T_STRING || H5Tis_variable_str(type.id()) > 0)
    fail("{}: attribute '{}' is no text of fixed length", file_name(object), name);
  std::string text(H5Tget_size(type.id()), '\0');
  checked(H5Aread(attribute.id(), type.id(), text.data()), object, name, "read attribute");
  return text.substr(0, text.find('\0'));
}

template <class T>
std::vector<T> read_attribute(hid_t object, const std::string& name) {
  const Attr attribute = open_attribute(object, name);
  const Space space(checked(H5Aget_space(attribute.id()), object, name, "measure"));
  std::vector<T> values(n_elements(space, object, name));
  checked(H5Aread(attribute.id(), Element<T>::memory(), values.data()), object, name,
          "read attribute");
  return values;
}

void make_scale(const Dataset& dataset, const std::string& name) {
  checked(H5DSset_scale(dataset.id(), name.c_str()), dataset.id(), name, "make a scale of");
}

void attach_scale(const Dataset& dataset, const Dataset& scale) {
  checked(H5DSattach_scale(dataset.id(), scale.id(), 0), dataset.id(), "scale", "attach");
}

#define KVMETER_H5_INSTANTIATE(T)                                                 \
  template Dataset create_dataset<T>(const File&, const std::string&, Layout);    \
  template Dataset create_dataset<T>(const File&, const std::string&, Layout, T); \
  template void write<T>(const Dataset&, std::span<const T>);                     \
  template std::vector<T> read<T>(const Dataset&, const std::string&);            \
  template std::vector<T> read_attribute<T>(hid_t, const std::string&);           \
  template void write_attribute<T>(hid_t, const std::string&, std::span<const T>)
KVMETER_H5_INSTANTIATE(std::int64_t);
KVMETER_H5_INSTANTIATE(double);
KVMETER_H5_INSTANTIATE(std::int8_t);
#undef KVMETER_H5_INSTANTIATE

}  // namespace kvmeter::h5

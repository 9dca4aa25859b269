// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/harness/record/result_reader.hpp"

#include <hdf5_hl.h>

#include <stdexcept>

namespace kvmeter::test {
namespace {

/// Closes an identifier of any kind; throws if the call that made it failed.
class Id {
 public:
  explicit Id(hid_t id) : m_id(id) {
    if (id < 0) throw std::runtime_error("an HDF5 call failed");
  }
  Id(const Id&) = delete;
  Id& operator=(const Id&) = delete;
  ~Id() { H5Idec_ref(m_id); }
  operator hid_t() const { return m_id; }

 private:
  hid_t m_id;
};

std::size_t n_elements(hid_t dataset) {
  const Id space(H5Dget_space(dataset));
  return static_cast<std::size_t>(H5Sget_simple_extent_npoints(space));
}

template <class T>
std::vector<T> read_numbers(hid_t dataset, hid_t type) {
  std::vector<T> values(n_elements(dataset));
  if (!values.empty() && H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
    throw std::runtime_error("H5Dread failed");
  return values;
}

}  // namespace

ResultReader::ResultReader(const std::filesystem::path& file)
    : m_file(H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT)) {
  if (m_file < 0) throw std::runtime_error("cannot open " + file.string());
}

ResultReader::~ResultReader() {
  H5Fclose(m_file);
}

std::vector<std::string> ResultReader::variables() const {
  std::vector<std::string> names;
  const auto add = [](hid_t, const char* name, const H5L_info_t*, void* data) -> herr_t {
    static_cast<std::vector<std::string>*>(data)->push_back(name);
    return 0;
  };
  if (H5Literate(m_file, H5_INDEX_CRT_ORDER, H5_ITER_INC, nullptr, add, &names) < 0)
    throw std::runtime_error("no creation order");
  return names;
}

std::size_t ResultReader::size(const std::string& variable) const {
  return n_elements(Id(H5Dopen2(m_file, variable.c_str(), H5P_DEFAULT)));
}

template <>
std::vector<std::int64_t> ResultReader::read(const std::string& variable) const {
  return read_numbers<std::int64_t>(Id(H5Dopen2(m_file, variable.c_str(), H5P_DEFAULT)),
                                    H5T_NATIVE_INT64);
}

template <>
std::vector<double> ResultReader::read(const std::string& variable) const {
  return read_numbers<double>(Id(H5Dopen2(m_file, variable.c_str(), H5P_DEFAULT)),
                              H5T_NATIVE_DOUBLE);
}

template <>
std::vector<std::string> ResultReader::read(const std::string& variable) const {
  const Id dataset(H5Dopen2(m_file, variable.c_str(), H5P_DEFAULT));
  const Id type(H5Dget_type(dataset));
  const Id space(H5Dget_space(dataset));
  std::vector<char*> pointers = read_numbers<char*>(dataset, type);
  std::vector<std::string> texts(pointers.begin(), pointers.end());
  if (!pointers.empty()) H5Dvlen_reclaim(type, space, H5P_DEFAULT, pointers.data());
  return texts;
}

bool ResultReader::has_attribute(const std::string& object, const std::string& name) const {
  return H5Aexists_by_name(m_file, object.c_str(), name.c_str(), H5P_DEFAULT) > 0;
}

std::string ResultReader::text_attribute(const std::string& object, const std::string& name) const {
  const Id attribute(
      H5Aopen_by_name(m_file, object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT));
  const Id type(H5Aget_type(attribute));
  std::string text(H5Tget_size(type), '\0');
  H5Aread(attribute, type, text.data());
  return text.substr(0, text.find('\0'));
}

std::vector<double> ResultReader::number_attribute(const std::string& object,
                                                   const std::string& name) const {
  const Id attribute(
      H5Aopen_by_name(m_file, object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT));
  const Id space(H5Aget_space(attribute));
  std::vector<double> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  H5Aread(attribute, H5T_NATIVE_DOUBLE, values.data());
  return values;
}

bool ResultReader::is_scale(const std::string& variable) const {
  return H5DSis_scale(Id(H5Dopen2(m_file, variable.c_str(), H5P_DEFAULT))) > 0;
}

bool ResultReader::is_attached(const std::string& variable, const std::string& scale) const {
  const Id dataset(H5Dopen2(m_file, variable.c_str(), H5P_DEFAULT));
  const Id axis(H5Dopen2(m_file, scale.c_str(), H5P_DEFAULT));
  return H5DSis_attached(dataset, axis, 0) > 0;
}

}  // namespace kvmeter::test

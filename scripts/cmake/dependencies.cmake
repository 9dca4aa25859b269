# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0

# Every dependency: installed first, else a pinned release archive.
#
# Kokkos normally comes from scripts/setup (.deps/kokkos) or Kokkos_ROOT. Defines
#   KVMETER_BACKENDS   the Kokkos back ends of this build: serial;openmp[;cuda]
#   kvmeter::hdf5      HDF5's C and high-level libraries, however they were found

include(FetchContent)

macro(kvmeter_dependency name url sha256) # further arguments go to find_package
  FetchContent_Declare(${name} URL ${url} URL_HASH SHA256=${sha256}
                       DOWNLOAD_EXTRACT_TIMESTAMP ON SYSTEM FIND_PACKAGE_ARGS ${ARGN})
  FetchContent_MakeAvailable(${name})
endmacro()
set(github https://github.com)

# What a fetched copy is built with; an installed one is as it is.
set(Kokkos_ENABLE_SERIAL ON CACHE BOOL "")
set(Kokkos_ENABLE_OPENMP ON CACHE BOOL "")
set(Kokkos_ARCH_NATIVE ON CACHE BOOL "")
set(HDF5_BUILD_HL_LIB ON CACHE BOOL "")
set(HDF5_EXTERNALLY_CONFIGURED ON CACHE BOOL "")
foreach(off HDF5_BUILD_TOOLS HDF5_BUILD_EXAMPLES HDF5_BUILD_CPP_LIB HDF5_ENABLE_SZIP_SUPPORT
            DNNL_BUILD_TESTS DNNL_BUILD_EXAMPLES)
  set(${off} OFF CACHE BOOL "")
endforeach()

include(kokkos_pin)
kvmeter_dependency(Kokkos ${KVMETER_KOKKOS_URL} ${KVMETER_KOKKOS_SHA256} 4.7 CONFIG)
kvmeter_dependency(fmt ${github}/fmtlib/fmt/archive/refs/tags/10.2.1.tar.gz
  1250e4cc58bf06ee631567523f48848dc4596133e163f02615c97f78bab6c811 9)
kvmeter_dependency(tomlplusplus ${github}/marzer/tomlplusplus/archive/refs/tags/v3.4.0.tar.gz
  8517f65938a4faae9ccf8ebb36631a38c1cadfb5efa85d9a72e15b9e97d25155 3.3)
kvmeter_dependency(nlohmann_json ${github}/nlohmann/json/releases/download/v3.11.3/json.tar.xz
  d6c65aca6b1ed68e7a182f4757257b107ae403032760ed6ef121c9d55e81757d 3.11)
kvmeter_dependency(CLI11 ${github}/CLIUtils/CLI11/archive/refs/tags/v2.5.0.tar.gz
  17e02b4cddc2fa348e5dbdbb582c59a3486fa2b2433e70a0c3bacb871334fd55 2.1)
kvmeter_dependency(HDF5
  ${github}/HDFGroup/hdf5/releases/download/hdf5_1.14.5/hdf5-1.14.5.tar.gz
  ec2e13c52e60f9a01491bb3158cb3778c985697131fc6a342262d32a26e58e44 1.10 COMPONENTS C HL)
kvmeter_dependency(dnnl ${github}/oneapi-src/oneDNN/archive/refs/tags/v2.7.3.tar.gz
  a50993aa6265b799b040fe745e0010502f9f7103cc53a9525d59646aef006633 2.6 CONFIG)
if(KVMETER_TESTS)
  kvmeter_dependency(Catch2 ${github}/catchorg/Catch2/archive/refs/tags/v3.7.1.tar.gz
    c991b247a1a0d7bb9c39aa35faf0fe9e19764213f28ffba3109388e62ee0269c 3.5)
  if(Catch2_SOURCE_DIR)
    list(APPEND CMAKE_MODULE_PATH ${Catch2_SOURCE_DIR}/extras)
  endif()
  include(Catch)
endif()

add_library(kvmeter_hdf5 INTERFACE)
add_library(kvmeter::hdf5 ALIAS kvmeter_hdf5)
if(TARGET hdf5::hdf5)
  target_link_libraries(kvmeter_hdf5 INTERFACE hdf5::hdf5_hl hdf5::hdf5)
else()
  target_link_libraries(kvmeter_hdf5 INTERFACE hdf5_hl-static hdf5-static)
endif()
if(NOT TARGET DNNL::dnnl)
  add_library(DNNL::dnnl ALIAS dnnl)
endif()
if(NOT TARGET tomlplusplus::tomlplusplus)
  message(FATAL_ERROR "toml++ was found without its CMake target")
endif()

string(TOLOWER "${Kokkos_DEVICES}" KVMETER_BACKENDS)
list(FILTER KVMETER_BACKENDS INCLUDE REGEX "^(serial|openmp|cuda)$")
if("cuda" IN_LIST KVMETER_BACKENDS)
  find_package(CUDAToolkit REQUIRED)
  # nvcc 13 cannot compile fmt 9 in C++20 otherwise.
  target_compile_definitions(fmt::fmt INTERFACE FMT_USE_CONSTEXPR=1)
endif()
message(STATUS "kvmeter back ends: ${KVMETER_BACKENDS}")

# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0

# How libraries and tests are declared.

# Kokkos' headers, parsed once for all targets that are declared with KOKKOS; nvcc takes none such.
add_library(kvmeter_precompiled OBJECT ${CMAKE_CURRENT_LIST_DIR}/precompiled.cpp)
target_link_libraries(kvmeter_precompiled PRIVATE Kokkos::kokkos)
if(NOT "cuda" IN_LIST KVMETER_BACKENDS)
  target_precompile_headers(kvmeter_precompiled PRIVATE <Kokkos_Core.hpp>)
endif()

function(kvmeter_reuse_precompiled target)
  if(NOT "cuda" IN_LIST KVMETER_BACKENDS)
    target_precompile_headers(${target} REUSE_FROM kvmeter_precompiled)
  endif()
endfunction()

# kvmeter_library(<name> [SOURCES ...] [HEADERS ...] [LINKS ...] [PRIVATE_LINKS ...] [KOKKOS])
#   The target kvmeter_<name>, known as kvmeter::<name>; without SOURCES an interface library.
#   Includes are spelled from the repository root. LINKS are what the headers need,
#   PRIVATE_LINKS what only the sources need (Kokkos, where headers hide it).
function(kvmeter_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "KOKKOS" "" "SOURCES;HEADERS;LINKS;PRIVATE_LINKS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "kvmeter_library(${name}): unknown ${arg_UNPARSED_ARGUMENTS}")
  endif()
  set(target kvmeter_${name})
  if(arg_SOURCES)
    set(scope PUBLIC)
    add_library(${target} STATIC ${arg_SOURCES})
    kvmeter_compile_options(${target})
  else()
    set(scope INTERFACE)
    add_library(${target} INTERFACE)
  endif()
  add_library(kvmeter::${name} ALIAS ${target})
  target_sources(${target} ${scope} FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}
                 FILES ${arg_HEADERS})
  # Listed headers already bring their base folder; this also covers generated sources.
  target_include_directories(${target} ${scope} ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} ${scope} ${arg_LINKS})
  if(arg_PRIVATE_LINKS)
    target_link_libraries(${target} PRIVATE ${arg_PRIVATE_LINKS})
  endif()
  if(arg_KOKKOS)
    kvmeter_reuse_precompiled(${target})
  else()
    set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
  endif()
endfunction()

# kvmeter_test(<name> SOURCES ... [LINKS ...] [LABEL ...] [KOKKOS])
#   The Catch2 program test_<name>; each of its cases is a CTest test "<name>: <case>".
#   KOKKOS links tests/main.cpp, which starts Kokkos, in place of Catch2's own main.
#   Slow or device tests get a program of their own with LABEL slow or cuda in place of cpu.
#   Programs see KVMETER_SOURCE_DIR (macro) and KVMETER_SHARED (environment, may be unset).
function(kvmeter_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "KOKKOS" "LABEL" "SOURCES;LINKS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "kvmeter_test(${name}): unknown ${arg_UNPARSED_ARGUMENTS}")
  endif()
  set(target test_${name})
  add_executable(${target} ${arg_SOURCES})
  if(arg_KOKKOS)
    target_link_libraries(${target} PRIVATE kvmeter_test_main)
    kvmeter_reuse_precompiled(${target})
  else()
    target_link_libraries(${target} PRIVATE Catch2::Catch2WithMain)
  endif()
  target_link_libraries(${target} PRIVATE ${arg_LINKS})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${target} PRIVATE KVMETER_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  kvmeter_compile_options(${target})

  if(NOT arg_LABEL)
    set(arg_LABEL cpu)
  endif()
  # One label: catch_discover_tests takes a list apart. 4 is how Catch2 ends where all is skipped.
  set(properties LABELS ${arg_LABEL} SKIP_RETURN_CODE 4)
  if(KVMETER_SHARED AND NOT KVMETER_SANITIZE) # the own fixtures are enough to find faults of memory
    list(APPEND properties ENVIRONMENT "KVMETER_SHARED=${KVMETER_SHARED}")
  endif()
  catch_discover_tests(${target} DISCOVERY_MODE PRE_TEST TEST_PREFIX "${name}: "
                       PROPERTIES ${properties})
endfunction()

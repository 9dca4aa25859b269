# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0

# Lists of variants (.def files) and the sources generated from them.

# kvmeter_read_def(<out> <file.def> [<allowed>])
#   The first argument of every entry NAME(first, ...) of a .def list, in order. With <allowed>
#   other than "all" only names in that list are kept.
function(kvmeter_read_def out file)
  cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(STRINGS ${file} lines REGEX "^ *KVMETER_[A-Z_]+\\(")
  set(names "")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^ *KVMETER_[A-Z_]+\\( *\"?([A-Za-z0-9_]+).*" "\\1" name "${line}")
    if(NOT ARGV2 OR ARGV2 STREQUAL "all" OR name IN_LIST ARGV2)
      list(APPEND names ${name})
    endif()
  endforeach()
  set(${out} ${names} PARENT_SCOPE)
endfunction()

# kvmeter_instantiate(<out> <template.cpp.in> VARIABLE value... [AND VARIABLE value...]...)
#   One source per combination of values, made by configure_file from the template, which uses
#   @VARIABLE@; the files' names are appended to <out>. For the variable BACKEND the template
#   also has @BACKEND_SPACE@, its Kokkos execution space.
#   Example: kvmeter_instantiate(sources attend_inst.cpp.in
#                                BACKEND ${KVMETER_BACKENDS} AND CODEC ${codecs})
function(kvmeter_instantiate out template)
  set(combinations "-") # each a string "-VARIABLE=value-VARIABLE=value-"
  set(variable "")
  set(grown "")
  foreach(word IN LISTS ARGN ITEMS AND)
    if(word STREQUAL "AND")
      set(combinations ${grown})
      set(grown "")
      set(variable "")
    elseif(NOT variable)
      set(variable ${word})
    else()
      foreach(combination IN LISTS combinations)
        list(APPEND grown "${combination}${variable}=${word}-")
      endforeach()
    endif()
  endforeach()

  cmake_path(GET template STEM stem)
  set(files "")
  foreach(combination IN LISTS combinations)
    set(name ${stem})
    string(REGEX MATCHALL "[^-]+" assignments "${combination}")
    foreach(assignment IN LISTS assignments)
      string(REGEX MATCH "^([A-Z_]+)=(.*)$" matched "${assignment}")
      set(${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
      string(APPEND name "_${CMAKE_MATCH_2}")
    endforeach()
    kvmeter_backend_space(BACKEND_SPACE "${BACKEND}")
    configure_file(${template} ${name}.cpp @ONLY)
    list(APPEND files ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  endforeach()
  set(${out} ${${out}} ${files} PARENT_SCOPE)
endfunction()

function(kvmeter_backend_space out backend)
  set(serial Kokkos::Serial)
  set(openmp Kokkos::OpenMP)
  set(cuda Kokkos::Cuda)
  set(${out} "" PARENT_SCOPE)
  if(backend)
    set(${out} ${${backend}} PARENT_SCOPE)
  endif()
endfunction()

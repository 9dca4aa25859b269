# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0

# kvmeter_compile_options(<target>): the warnings of every target of this project.

function(kvmeter_compile_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra $<$<BOOL:${KVMETER_WERROR}>:-Werror>)
  # Packs are vectors of 64 bytes. Where the processor has no such register g++ warns that one with
  # it would pass them another way; here every file is compiled for the same processor.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-psabi>)
  if(CMAKE_UNITY_BUILD) # g++ warns of anonymous namespaces in all but the file that it was given
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

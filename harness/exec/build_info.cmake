# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0

# cmake -D source=... -D template=... -D output=... -D version=... -D compiler=...
#       -D compiler_flags=... -D build_type=... -P build_info.cmake
# Runs at every build, so that the commit is that of the build and not of the configuration.

find_package(Git QUIET)
set(git_commit "")
set(git_dirty false)
if(Git_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --verify --quiet HEAD
                  WORKING_DIRECTORY ${source}
                  OUTPUT_VARIABLE git_commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${GIT_EXECUTABLE} --no-optional-locks status --porcelain
                          --untracked-files=no
                  WORKING_DIRECTORY ${source}
                  OUTPUT_VARIABLE changes ERROR_QUIET)
  if(git_commit AND changes)
    set(git_dirty true)
  endif()
endif()
configure_file(${template} ${output} @ONLY) # leaves an equal file's time as it is

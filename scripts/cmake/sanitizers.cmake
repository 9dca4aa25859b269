# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0

# KVMETER_SANITIZE: every target of this project, before any is declared. Installed libraries
# (Kokkos, oneDNN, HDF5) stay as they are; mixing is fine, only errors inside them go unseen.

if(KVMETER_SANITIZE)
  set(flags -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_compile_options(${flags})
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  add_link_options(-fsanitize=address,undefined)
endif()

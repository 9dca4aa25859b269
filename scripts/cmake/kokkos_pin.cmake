# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0

# The Kokkos release that is fetched when none is installed. As a script (cmake -DFILE=... -P) it
# downloads the archive to FILE.

set(KVMETER_KOKKOS_URL
    https://github.com/kokkos/kokkos/releases/download/4.7.00/kokkos-4.7.00.tar.gz)
set(KVMETER_KOKKOS_SHA256 126b774a24dde8c1085c4aede7564c0b7492d6a07d85380f2b387a712cea1ff5)

if(CMAKE_SCRIPT_MODE_FILE)
  file(DOWNLOAD ${KVMETER_KOKKOS_URL} ${FILE} TIMEOUT 120 INACTIVITY_TIMEOUT 15
       EXPECTED_HASH SHA256=${KVMETER_KOKKOS_SHA256})
endif()

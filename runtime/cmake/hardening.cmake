# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What distributions ask of libraries and programs: canaries for functions with
# arrays, probes of large frames, marks for indirect branches, relocations
# that are read-only, and programs at random addresses. The plugins have the options too, but
# are not bound at load time: tools load them that lack some of the symbols that they name. Checked string functions
# (_FORTIFY_SOURCE) are for gleaner alone: each that a preloaded library calls is one more symbol to find
# in every process that starts.

set(options "")
set(link "")
# Names of files do not depend on the folder of the build: two builds give the same bytes.
set(names -ffile-prefix-map=${CMAKE_SOURCE_DIR}=. -ffile-prefix-map=${CMAKE_BINARY_DIR}=build)
if(NOT VF_SANITIZE)
  list(APPEND options -fstack-protector-strong -fstack-clash-protection ${names})
  if(VF_PLATFORM STREQUAL "x86-64")
    list(APPEND options -fcf-protection)
  elseif(VF_PLATFORM STREQUAL "aarch64")
    list(APPEND options -mbranch-protection=standard)
  endif()
  list(APPEND link LINKER:-z,relro LINKER:-z,noexecstack)
  add_compile_options(${options})
  add_link_options(${link} LINKER:-z,now)
endif()
set(VF_FILE_NAMES ${names} CACHE INTERNAL "Compiler's options for the names of files")
set(VF_HARDENING ${options} CACHE INTERNAL "Compiler's options of all libraries")
set(VF_HARDENING_LINK ${link} CACHE INTERNAL "Linker's options of all libraries")

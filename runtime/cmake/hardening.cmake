# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What distributions ask of libraries and programs, for the runtime's: canaries for functions with
# arrays, probes of large frames, marks for indirect branches, relocations
# that are read-only, and programs at random addresses. The plugins are not here: tools load them
# that lack some of the symbols that they name, so these are not bound at load time. Checked string functions
# (_FORTIFY_SOURCE) are for gleaner alone: each that a preloaded library calls is one more symbol to find
# in every process that starts.

if(NOT VF_SANITIZE)
  add_compile_options(-fstack-protector-strong -fstack-clash-protection)
  # Names of files do not depend on the folder of the build: two builds give the same bytes.
  add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}=. -ffile-prefix-map=${CMAKE_BINARY_DIR}=build)
  if(VF_PLATFORM STREQUAL "x86-64")
    add_compile_options(-fcf-protection)
  elseif(VF_PLATFORM STREQUAL "aarch64")
    add_compile_options(-mbranch-protection=standard)
  endif()
  add_link_options(LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
endif()

# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What `gleaner hints` loads into the kernel is part of that program. Its types are relocated when it is loaded.

find_program(VF_BPF_CLANG NAMES clang HINTS ${VF_LLVM_DIR}/bin NO_DEFAULT_PATH)
find_path(VF_BPF_INCLUDE bpf/bpf_helpers.h)
if(VF_BPF_CLANG AND VF_BPF_INCLUDE AND NOT CMAKE_CROSSCOMPILING)
  set(hints ${CMAKE_CURRENT_BINARY_DIR}/hints.bpf.o)
  add_custom_command(OUTPUT ${hints}
    COMMAND ${VF_BPF_CLANG} -target bpf -mcpu=v3 -O2 -g ${VF_FILE_NAMES} -Wall -Werror -I${VF_BPF_INCLUDE}
      -idirafter /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}
      -c ${CMAKE_CURRENT_SOURCE_DIR}/gleaner/hints.bpf.c -o ${hints}
    DEPENDS gleaner/hints.bpf.c gleaner/hints.bpf.h)
  add_custom_target(gleaner-hints DEPENDS ${hints})
  add_dependencies(gleaner gleaner-hints)
  # A name without folders: programs that are built in two folders are the same bytes.
  set_source_files_properties(gleaner/hints_kernel.c PROPERTIES OBJECT_DEPENDS ${hints}
    COMPILE_DEFINITIONS VF_HINTS_OBJECT="hints.bpf.o"
    COMPILE_OPTIONS -Wa,-I${CMAKE_CURRENT_BINARY_DIR})
else()
  message(STATUS "libbpf-dev or clang is missing: gleaner hints will say so")
endif()

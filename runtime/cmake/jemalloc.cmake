# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds jemalloc's static library from the source of Debian's package, with
# malloc/jemalloc.patch, and sets VF_JEMALLOC to it.
# Where this is impossible, as without network, says so in one line, also in
# VF_JEMALLOC_NOT_BUILT, and leaves VF_JEMALLOC as it is.

set(JEMALLOC_URL http://deb.debian.org/debian/pool/main/j/jemalloc/jemalloc_5.3.0.orig.tar.bz2)
set(JEMALLOC_SHA256 2db82d1e7119df3e71b7640219b6dfe84789bc0537983c3b7ac4f7189aecfeaa)
# As Debian configures it, but for the pages' size and C++'s operators.
# Statistics are kept: programs read them by mallctl, and they take one instruction.
# Pages are 8 KiB: malloc/jemalloc.h says what depends on it. Kernels for AArch64 may have
# pages of 64 KiB.
set(lg_page 13)
if(VF_PLATFORM STREQUAL "aarch64")
  set(lg_page 16)
endif()
set(JEMALLOC_OPTIONS --enable-prof --disable-cxx --disable-doc
  --with-lg-page=${lg_page} --with-lg-hugepage=21 --with-version=5.3.0-0-g0)
set(compiler ${CMAKE_C_COMPILER})
if(CMAKE_CROSSCOMPILING)
  list(APPEND JEMALLOC_OPTIONS --host=${CMAKE_C_COMPILER_TARGET})
  string(APPEND compiler " --target=${CMAKE_C_COMPILER_TARGET} ${CMAKE_EXE_LINKER_FLAGS}")
endif()

set(top ${CMAKE_BINARY_DIR}/jemalloc)
set(patch ${CMAKE_CURRENT_SOURCE_DIR}/malloc/jemalloc.patch)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${patch})
file(SHA256 ${patch} patched)
file(SHA256 ${CMAKE_CURRENT_LIST_FILE} built)
# Its configure asks what libc has.
file(GLOB libc /usr/include/*-linux-gnu/gnu/lib-names-64.h /usr/include/features.h
  /usr/*-linux-gnu/include/features.h)
foreach(header IN LISTS libc)
  file(SHA256 ${header} sum)
  string(APPEND built " ${sum}")
endforeach()
string(SHA256 key "${patched} ${built} ${compiler} ${CMAKE_C_COMPILER_VERSION} ${JEMALLOC_OPTIONS} ${VF_JEMALLOC_WRAPPED} ${VF_JEMALLOC_USED}")
set(archive ${top}/${key}/lib/libjemalloc_pic.a)

# Runs a command; returns from the including file if it fails.
macro(vf_jemalloc_step what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT failed EQUAL 0)
    string(REGEX REPLACE "\n.*" "" said "${said}")
    set(VF_JEMALLOC_NOT_BUILT "${what} failed: ${said}")
    message(STATUS "jemalloc is Debian's: ${VF_JEMALLOC_NOT_BUILT}")
    return()
  endif()
endmacro()

include(${CMAKE_CURRENT_LIST_DIR}/kept.cmake)
if(NOT EXISTS ${archive})
  vf_find_kept(jemalloc-${key} kept)
  if(kept)
    message(STATUS "jemalloc is the one that was built before: ${kept}")
    file(MAKE_DIRECTORY ${top}/${key}/lib)
    execute_process(COMMAND ${CMAKE_COMMAND} -E copy ${kept} ${archive} COMMAND_ERROR_IS_FATAL ANY)
  endif()
endif()
if(NOT EXISTS ${archive})
  find_program(VF_MAKE make)
  find_program(VF_PATCH patch)
  find_program(VF_APT_HELPER apt-helper PATHS /usr/lib/apt)
  if(NOT VF_MAKE OR NOT VF_PATCH OR NOT VF_APT_HELPER)
    set(VF_JEMALLOC_NOT_BUILT "building it needs make, patch and apt")
    message(STATUS "jemalloc is Debian's: ${VF_JEMALLOC_NOT_BUILT}")
    return()
  endif()
  message(STATUS "building jemalloc")
  file(REMOVE_RECURSE ${top})
  file(MAKE_DIRECTORY ${top}/source)
  set(source ${top}/source/jemalloc-5.3.0)
  set(tar ${top}/jemalloc.tar.bz2)
  # apt's settings know the way to the archive, a proxy for example.
  vf_jemalloc_step("downloading its source" ${VF_APT_HELPER} -q -o APT::Sandbox::User=
    -o Acquire::Retries=2 -o Acquire::http::Timeout=20
    download-file ${JEMALLOC_URL} ${tar} SHA256:${JEMALLOC_SHA256})
  vf_jemalloc_step("unpacking it" ${CMAKE_COMMAND} -E chdir ${top}/source ${CMAKE_COMMAND} -E tar xjf ${tar})
  vf_jemalloc_step("patching it" ${VF_PATCH} -s -p1 -d ${source} -i ${patch})
  # -O3 is jemalloc's own choice. Debian's valgrind reads DWARF 4. No names of folders, so
  # that each build makes the same bytes.
  vf_jemalloc_step("its configure" ${CMAKE_COMMAND} -E chdir ${source} ${CMAKE_COMMAND} -E env
    "CC=${compiler}" AR=${CMAKE_AR} RANLIB=${CMAKE_RANLIB} NM=${CMAKE_NM} "CFLAGS=-O3 -gdwarf-4 -g1 -ffile-prefix-map=${source}=jemalloc"
    ./configure ${JEMALLOC_OPTIONS})
  # Names that other files use have a prefix in Debian's archive. To find out all names
  # of jemalloc its makefile compiles each file twice; these are enough.
  set(header ${source}/include/jemalloc/internal/private_namespace.h)
  set(renamed "")
  foreach(name IN LISTS VF_JEMALLOC_WRAPPED VF_JEMALLOC_USED)
    string(REGEX REPLACE "^je_" "" plain ${name})
    string(APPEND renamed "#define ${plain} JEMALLOC_N(${plain})\n")
  endforeach()
  file(WRITE ${header} "${renamed}")
  # CC_MM would compute what each file includes, which nothing changes.
  vf_jemalloc_step("compiling it" ${VF_MAKE} -s -C ${source} -j2 CC_MM= -o include/jemalloc/internal/private_namespace.h
    lib/libjemalloc_pic.a)
  file(COPY ${source}/lib/libjemalloc_pic.a DESTINATION ${top}/${key}/lib)
  vf_keep(jemalloc-${key} ${archive})
endif()
set(VF_JEMALLOC ${archive})
set(VF_JEMALLOC_IS_PATCHED 1)
set(VF_JEMALLOC_LG_PAGE ${lg_page})

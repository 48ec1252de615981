/*===- spin-wait/shared.c - One block per process, not per copy -----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A process may hold several copies of libvfrt: one linked statically into the
 * executable, others into plugins opened with RTLD_LOCAL. A notify through one
 * must wake a wait through another, and the pass reads vf_spin_armed through the
 * GOT of whatever module the store is in.
 *
 * Symbols of binding STB_GNU_UNIQUE do exactly that: the dynamic linker gives
 * every module of the process the first definition it met, also across
 * RTLD_LOCAL, and keeps that module loaded. The C++ runtime relies on it for
 * the same purpose. (With musl they are ordinary global symbols.) No C attribute
 * makes one, so the two objects are defined in assembler directives; the syntax
 * is the same for every ELF target.
 *
 * What remains: a copy whose symbols are not in a dynamic symbol table shares
 * nothing. That is a copy linked with --exclude-libs or a version script that
 * hides vf_spin_*, and a static copy in an executable linked without
 * --export-dynamic-symbol='vf_spin_*' (libvfrt.a's CMake target adds it). Waits
 * through one and notifies through the other then miss each other, which the
 * timeouts and `suspect` in block.c turn into time.
 *===----------------------------------------------------------------------===*/

#include "spin-wait/shared.h"

#define VF_STRING_(x) #x
#define VF_STRING(x) VF_STRING_(x)

/* Zeroed, the same object in the whole process, on cache lines of its own: what
 * the linker puts behind it starts on another. */
#define VF_PROCESS_WIDE(name, size)                                            \
  __asm__(".pushsection .bss." #name ",\"aw\",%nobits\n"                       \
          "  .balign " VF_STRING(VF_CACHE_LINE) "\n"                           \
          "  .type " #name ", %gnu_unique_object\n"                            \
          "  .size " #name ", " VF_STRING(size) "\n"                           \
          #name ":\n"                                                          \
          "  .zero " VF_STRING(size) "\n"                                      \
          "  .balign " VF_STRING(VF_CACHE_LINE) "\n"                           \
          "  .popsection\n")

#define VF_SHARED_SIZE 16640

VF_PROCESS_WIDE(vf_spin_shared_1, VF_SHARED_SIZE);
VF_PROCESS_WIDE(vf_spin_armed, 4);

_Static_assert(sizeof(struct vf_spin_shared) == VF_SHARED_SIZE,
               "VF_SHARED_SIZE is what the assembler reserves");

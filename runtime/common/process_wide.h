/*===- common/process_wide.h - Objects shared by all copies ---------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A process may contain several copies of libvfrt; the objects that all copies
 * share must exist only once. Symbols of binding STB_GNU_UNIQUE achieve this:
 * the dynamic linker uses the first definition that it finds for all modules of
 * the process, even those opened with RTLD_LOCAL, and keeps the module of that
 * definition loaded. The C++ runtime uses this binding for the same purpose.
 * (With musl these are ordinary global symbols.) No C attribute creates such
 * symbols, so assembler directives define them; the syntax is the same for all
 * ELF targets.
 *
 *   VF_PROCESS_WIDE(vf_thing_1, 128);
 *   extern VF_API struct vf_thing vf_thing_1;  // zeroed
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_COMMON_PROCESS_WIDE_H
#define VFRIENDLY_COMMON_PROCESS_WIDE_H

#define VF_API __attribute__((visibility("default")))

/* Alignment that keeps words written by different threads on separate cache
 * lines: 64 bytes on every x86-64 and nearly every other server CPU. On CPUs
 * with longer lines two objects may share one, which only costs time. */
#define VF_CACHE_LINE 64

#define VF_STRING_(x) #x
#define VF_STRING(x) VF_STRING_(x)

/* Defines a zero-initialized object that exists once per process, even if
 * several copies of the library are loaded. It is aligned, by default to cache
 * lines, and padded to a multiple of its alignment, so that no other object
 * shares its cache lines. */
/* clang-format off */
#define VF_PROCESS_WIDE(name, size)                                            \
  VF_PROCESS_WIDE_AT(name, size, VF_CACHE_LINE)
#define VF_PROCESS_WIDE_AT(name, size, alignment)                              \
  __asm__(".pushsection .bss." #name ",\"aw\",%nobits\n"                       \
          "  .balign " VF_STRING(alignment) "\n"                               \
          "  .type " #name ", %gnu_unique_object\n"                            \
          "  .size " #name ", " VF_STRING(size) "\n"                           \
          #name ":\n"                                                          \
          "  .zero " VF_STRING(size) "\n"                                      \
          "  .balign " VF_STRING(alignment) "\n"                               \
          "  .popsection\n")
/* clang-format on */

#endif /* VFRIENDLY_COMMON_PROCESS_WIDE_H */

/*===- common/process_wide.h - Objects shared by all copies ---------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A process may contain several copies of libvfrt; the objects that all copies
 * share must exist only once.
 *
 *   VF_PROCESS_WIDE(vf_thing_1, 128);
 *   extern VF_API struct vf_thing vf_thing_1;  // zeroed
 *   #ifdef VF_FINDS_OTHERS
 *   VF_FOUND(vf_thing_1);
 *   #define vf_thing_1 (*(struct vf_thing *)vf_thing_1_found.at)
 *   #endif
 *
 * Preloaded libraries are there from the start to the end. Their objects are
 * symbols of binding STB_GNU_UNIQUE: the dynamic linker uses the first
 * definition that it finds for all modules of the process, and keeps the module
 * of that definition loaded. The C++ runtime uses this binding for the same
 * purpose. (With musl these are ordinary global symbols.) No C attribute
 * creates such symbols, so assembler directives define them; the syntax is the
 * same for all ELF targets.
 *
 * A plug-in must not stay loaded because it contains libvfrt.a: who opens it
 * again expects it to begin anew. With VF_FINDS_OTHERS, the constructor of a
 * copy finds the objects of other copies, by the ELF notes of their modules,
 * and uses theirs in place of its own (process_wide.c). A module that may be
 * unloaded gives an object that it is the first to have to memory of its own,
 * which lives as long as one copy uses it.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_COMMON_PROCESS_WIDE_H
#define VFRIENDLY_COMMON_PROCESS_WIDE_H

#include <stddef.h>
#include <stdint.h>

#define VF_API __attribute__((visibility("default")))
/* Of variables that other files of a library use: -fvisibility=hidden does not
 * count for declarations, and code then reads the address first, in each call
 * of pthread_mutex_lock for example. */
#define VF_HIDDEN __attribute__((visibility("hidden")))

/* Alignment that keeps words written by different threads on separate cache
 * lines: 64 bytes on every x86-64 and nearly every other server CPU. On CPUs
 * with longer lines two objects may share one, which only costs time. */
#define VF_CACHE_LINE 64

#define VF_STRING_(x) #x
#define VF_STRING(x) VF_STRING_(x)

/* Where a module finds an object. */
struct vf_found {
  void *at;     /* the object: in this module, another one, or of its own */
  void *symbol; /* that of this module, or of one that all modules see */
  uint32_t size, alignment;
  uint32_t is_shared; /* `at` has its final value: others may use it */
  uint32_t is_own;    /* `at` is memory of its own, see process_wide.c */
  uint32_t may_move;  /* while no other module uses it */
  char name[24];
  /* Keeps process_wide.c in an executable that takes it from an archive. */
  void (*begins)(void);
};
void vf_find_others(void);

/* Defines a zero-initialized object that exists once per process, even if
 * several copies of the library are loaded. It is aligned, by default to cache
 * lines, and padded to a multiple of its alignment, so that no other object
 * shares its cache lines. */
/* clang-format off */
#define VF_PROCESS_WIDE(name, size)                                            \
  VF_OBJECT(#name, size, VF_CACHE_LINE);                                       \
  VF_NOTE(#name "_found");                                                     \
  VF_RECORD(name##_found, name##_symbol, #name, size, VF_CACHE_LINE)
#define VF_PROCESS_WIDE_AT(name, size, alignment)                              \
  VF_OBJECT(#name, size, alignment);                                           \
  VF_NOTE(#name "_found");                                                     \
  VF_RECORD(name##_found, name##_symbol, #name, size, alignment)

#define VF_OBJECT(name, size, alignment)                                       \
  __asm__(".pushsection .bss." name ",\"aw\",%nobits\n"                         \
          "  .balign " VF_STRING(alignment) "\n"                               \
          "  .globl " name "\n"                                               \
          "  .type " name ", " VF_OBJECT_TYPE "\n"                             \
          "  .size " name ", " VF_STRING(size) "\n"                            \
          name ":\n"                                                           \
          "  .zero " VF_STRING(size) "\n"                                      \
          "  .balign " VF_STRING(alignment) "\n"                               \
          "  .popsection\n")

/* Tells other modules where the record is, relative to the note. */
#define VF_NOTE_NAME "vfriendly"
#define VF_NOTE(record)                                                        \
  __asm__(".pushsection .note.vfriendly,\"a\",%note\n"                          \
          "  .balign 4\n"                                                      \
          "  .long 10, 4, 1\n"                                                 \
          "  .asciz \"" VF_NOTE_NAME "\"\n"                                     \
          "  .balign 4\n"                                                      \
          "  .long " record " - .\n"                                           \
          "  .popsection\n")

#ifdef VF_FINDS_OTHERS
#define VF_OBJECT_TYPE "%object"
#define VF_IS_SHARED_AT_ONCE 0
#define VF_BEGINS vf_find_others
#else
#define VF_OBJECT_TYPE "%gnu_unique_object"
#define VF_IS_SHARED_AT_ONCE 1
#define VF_BEGINS NULL
#endif

#define VF_RECORD(record, its_symbol, its_name, its_size, its_alignment)       \
  extern VF_API char its_symbol[] __asm__(its_name);                           \
  extern struct vf_found record;                                               \
  __attribute__((used, section("vf_found"), visibility("hidden")))             \
  struct vf_found record = {                                                   \
      its_symbol,   its_symbol,           its_size, its_alignment,             \
      VF_IS_SHARED_AT_ONCE, 0, 0, its_name, VF_BEGINS}
#define VF_FOUND(name)                                                         \
  extern struct vf_found name##_found __attribute__((visibility("hidden")))
/* clang-format on */

#endif /* VFRIENDLY_COMMON_PROCESS_WIDE_H */

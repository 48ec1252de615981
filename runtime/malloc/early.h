/*===- malloc/early.h - The first blocks of a process ---------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Allocates from VF_EARLY_BYTES of static memory until it is used up. A process
 * that needs no more never starts jemalloc: `sh -c :` has 24 page faults more
 * than without the library, and not 65. The memory of a freed block is not used
 * again.
 *
 * Only while the process has one thread. pthread_create allocates memory after
 * it has told __libc_single_threaded and before the new thread runs. So
 * jemalloc starts in the creating thread: no other thread can fork meanwhile,
 * and the start, which takes 5 KB of stack, never runs on that of a small
 * thread.
 *
 * Only with jemalloc.patch: each free of jemalloc's, which does not know these
 * blocks, then ends in a path that looks for them.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MALLOC_EARLY_H
#define VFRIENDLY_MALLOC_EARLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Enough for `sh -c :` and for most tools that print a line. */
#define VF_EARLY_BYTES ((size_t)32 << 10)

extern char vf_early[VF_EARLY_BYTES];

/* Returns true if vf_early_alloc has returned this block. */
static inline bool vf_is_early(const void *block) {
  return VF_JEMALLOC_IS_PATCHED &&
         (uintptr_t)block - (uintptr_t)vf_early < VF_EARLY_BYTES;
}

extern size_t vf_early_used;

/* Returns false from when a block has found no room or a second thread may be
 * there: jemalloc runs then. */
static inline bool vf_early_is_open(void) {
  return VF_JEMALLOC_IS_PATCHED &&
         __atomic_load_n(&vf_early_used, __ATOMIC_RELAXED) != VF_EARLY_BYTES;
}

/* Returns zeroed memory, aligned for any type, or NULL: if there is no room, if
 * a second thread may be there, or before the library's constructors run. Never
 * aligned to a page, so that it is not taken for a large block. May be called
 * in any thread and in a signal handler. jemalloc.patch calls it, too. */
void *vf_early_alloc(size_t size);

/* pre: vf_is_early(block) */
size_t vf_early_size(const void *block);

#endif /* VFRIENDLY_MALLOC_EARLY_H */

/*===- malloc/cpu_cache.h - Freed large blocks, to 1 MiB ------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Keeps freed blocks for the next requests of their size, a stack for each size
 * and CPU. jemalloc caches blocks per thread, where only the thread itself can
 * take them out again, so a thread that sleeps holds memory back. A process has
 * fewer CPUs than it may have threads, and any thread can empty these caches.
 *
 * The kept blocks count as used in pages.h, and are at most a 16th of the
 * memory of the process. No function waits, calls the allocator with a lock
 * held, or changes errno.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MALLOC_CPU_CACHE_H
#define VFRIENDLY_MALLOC_CPU_CACHE_H

#include "malloc/jemalloc.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The smallest and the largest block size. jemalloc's thread caches have
 * smaller blocks: with pages of 8 KiB those to 28 KiB, with pages of 4 KiB
 * those to 14 KiB. For a block above the largest size, jemalloc takes less time
 * than touching its pages does. */
#define VF_CPU_CACHE_MIN (VF_JEMALLOC_PAGE * 4)
#define VF_CPU_CACHE_MAX ((size_t)1 << 20)
/* Alignment of all blocks of these sizes; few smaller ones have it, too. */
#define VF_CPU_CACHE_ALIGNMENT ((uintptr_t)VF_JEMALLOC_PAGE)

/* Returns true if a block for `size` bytes may be kept here. jemalloc has four
 * sizes between two powers of 2. */
static inline bool vf_cpu_cache_has_size(size_t size) {
  size_t below = VF_CPU_CACHE_MIN - VF_CPU_CACHE_MIN / 8;
  return size - below - 1 < VF_CPU_CACHE_MAX - below;
}

/* Returns a block with at least this many bytes, whose contents are undefined,
 * or NULL if none is kept.
 *
 * pre: vf_cpu_cache_has_size(size) */
void *vf_cpu_cache_take(size_t size);

/* Keeps a block. Returns false, and the caller keeps it, if its size is none of
 * those above, or if enough blocks are kept. */
bool vf_cpu_cache_put(void *block, size_t usable_size);

/* Frees the blocks that were not needed since the last call, and all blocks. A
 * CPU's cache that another thread uses at this moment is left out. Must not be
 * called from inside the allocator. */
void vf_cpu_cache_trim(void);
void vf_cpu_cache_empty(void);

/* To be called before a fork, and after it in the parent and in the child:
 * between them no other thread changes a cache. */
void vf_cpu_cache_before_fork(void);
void vf_cpu_cache_after_fork(void);

#endif /* VFRIENDLY_MALLOC_CPU_CACHE_H */

/*===- vfriendly/malloc.h - Statistics and policy of the allocator --------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * These functions are in libvfmalloc.so, which is preloaded or linked. A
 * program that may run without this library declares them weak and tests their
 * addresses before the calls.
 *
 *   struct vf_malloc_stats stats;
 *   vf_malloc_stats(&stats, sizeof stats);
 *   printf("%zu bytes used, %zu free\n", stats.used, stats.resident_free);
 *
 * Variables, read when the library is loaded:
 *
 *   VF_MALLOC_TUNE_PERCENT  scales the threshold up to which free memory is
 *                           kept, in percent, 0 to 10000 [100]
 *   VF_MALLOC_FLOOR         the minimum of that threshold in bytes,
 *                           65536 to 1000000000 [1048576]
 *   VF_MALLOC_HOLD_PRICE    the value of keeping a free page: nanoseconds of
 *                           CPU time per second, 1 to 1000000000 [40000]
 *   VF_MALLOC_SHOOTDOWN     LOCAL,REMOTE,EXIT: what it costs to interrupt a CPU
 *                           of the same node, of another one, and the exit of
 *                           each interrupt to the hypervisor, in nanoseconds,
 *                           each 0 to 1000000 [1000,3000,1000; without a
 *                           hypervisor no exit]
 *   VF_STATS=1              prints these numbers at exit; VF_STATS=PATH, where
 *                           PATH contains a slash, appends them to that file;
 *                           %p in PATH is replaced by the process id
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MALLOC_H
#define VFRIENDLY_MALLOC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Statistics of the allocator. Later versions add members at the end. */
struct vf_malloc_stats {
  size_t used;          /* bytes of the pages that contain blocks in use */
  size_t resident_free; /* bytes of free pages that still have memory */
  size_t mapped;        /* bytes of address space */
  uint64_t frees;       /* ranges of pages that became free */
  uint64_t returns;     /* times the library decided to give memory back */
  uint64_t calls;       /* system calls that gave memory back: each interrupts
                           the CPUs that run the process */
  uint64_t avoided;     /* additional system calls that would have been made if
                           each range were given back when it became free */
  uint64_t returned;    /* total bytes given back to the system */
  uint64_t regrets;     /* times memory was given back and soon needed again */
  uint64_t pressure;    /* times memory was short for other programs */
};

/* Fills the first size bytes of *stats. May be called in any thread. */
void vf_malloc_stats(struct vf_malloc_stats *stats, size_t size);

/* Sets the percentage by which the threshold is scaled, 0 to 10000, as
 * VF_MALLOC_TUNE_PERCENT does at the start: a larger value keeps more memory
 * and interrupts other CPUs less often. Counts from the next examination of
 * free memory, which may be as late as the next free. May be called in any
 * thread at any time. Returns 0, or EINVAL for a larger value, which changes
 * nothing. */
int vf_malloc_set_sensitivity(unsigned percent);

#ifdef __cplusplus
}
#endif

#endif /* VFRIENDLY_MALLOC_H */

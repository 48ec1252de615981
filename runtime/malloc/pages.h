/*===- malloc/pages.h - Free memory of the whole process ------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Holds the pages that no arena of the allocator uses; all arenas share them:
 *
 *   bool zero = false;
 *   void *p = vf_pages_take(NULL, 65536, 4096, &zero);
 *   vf_pages_put(p, 65536);
 *   struct vf_pages_batch batch;
 *   while (vf_pages_begin_giving(&batch, bytes) != 0) {
 *     ... the kernel takes them back ...
 *     vf_pages_end_giving(&batch, true);
 *   }
 *
 * A free range is either resident (it was used and has not been returned to the
 * kernel) or clean (it has no memory, costs nothing, and reads as zeros).
 * Address space is unmapped only if it is scarce, see space.h.
 *
 * Any thread may call these functions. They take a lock for about 100 ns, do
 * not call the allocator, and preserve errno.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MALLOC_PAGES_H
#define VFRIENDLY_MALLOC_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* The maximum number of ranges per system call (UIO_MAXIOV). */
#define VF_BATCH_MAX 1024

/* Sums over the process, in bytes unless noted. */
struct vf_pages_totals {
  size_t used;     /* in use by the allocator */
  size_t resident; /* free, and not given back to the kernel */
  size_t mapped; /* mapped address space; what exceeds used and resident has no
                    memory */
  uint64_t taken_clean; /* total bytes allocated so far that had no memory: they
                           fault when touched */
  uint64_t puts;        /* number of ranges freed so far */
};

/* Returns size bytes with this alignment; at the address `at` if `at` is not
 * null. On entry *zero tells whether the bytes must read as zeros, on return
 * whether they do. Returns NULL if the kernel has no more memory, or if the
 * range at `at` is not free.
 *
 * pre: size > 0; size and alignment are multiples of the page size; alignment
 * is a power of 2. */
void *vf_pages_take(void *at, size_t size, size_t alignment, bool *zero);

/* Frees the range, which counts as resident. Returns false, and the caller
 * keeps the range, if there is no memory to record it.
 *
 * pre: whole pages that were taken, or mapped by other code and passed to us.
 */
bool vf_pages_put(void *start, size_t size);

struct vf_pages_totals vf_pages_totals(void);

/* Like vf_pages_totals, for signal handlers: takes no lock, so the numbers may
 * be of different moments. */
struct vf_pages_totals vf_pages_totals_unlocked(void);

/* Returns totals.used + totals.resident at about this time. Takes no lock. */
size_t vf_pages_around(void);

/* Returns the minimum of free, resident memory since the last call: what no
 * thread needed in that time. */
size_t vf_pages_lowest(void);

/* Free, resident ranges that no thread can allocate while they are in the
 * batch. */
struct vf_pages_batch {
  int n;
  size_t bytes;
  struct iovec ranges[VF_BATCH_MAX];
};

/* Collects the largest ranges, up to `bytes` in all, the last one possibly in
 * part. Returns the bytes of the batch, 0 if there is nothing to give back.
 *
 * pre: bytes is a multiple of the page size. */
size_t vf_pages_begin_giving(struct vf_pages_batch *batch, size_t bytes);

/* Ends the batch and frees its ranges. They read as zeros now if they were
 * given back. */
void vf_pages_end_giving(const struct vf_pages_batch *batch, bool given);

/* Unmaps all free ranges. */
void vf_pages_unmap(void);

/* To be called before a fork, and after it in the parent and in the child. */
void vf_pages_before_fork(void);
void vf_pages_after_fork(bool is_child);

#endif /* VFRIENDLY_MALLOC_PAGES_H */

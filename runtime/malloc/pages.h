/*===- malloc/pages.h - Free memory of the whole process ------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * What no arena of the allocator uses, in one place for all of them:
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
 * A free range is resident, used before and not given back, or clean: then it
 * costs nothing, and reads as zeros. Address space is returned where it is
 * short, see space.h.
 *
 * Any thread may call these; they take a lock for some 100 ns, do not call the
 * allocator, and leave errno alone.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MALLOC_PAGES_H
#define VFRIENDLY_MALLOC_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* What a kernel call takes (UIO_MAXIOV). */
#define VF_BATCH_MAX 1024

/* Sums over the process, in bytes unless it says otherwise. */
struct vf_pages_totals {
  size_t used;          /* with the allocator */
  size_t resident;      /* free, but not given back */
  size_t mapped;        /* address space; the rest of it is clean */
  uint64_t taken_clean; /* so far: to be faulted in, if they are touched */
  uint64_t puts;        /* ranges so far */
};

/* size bytes, aligned; at that place if `at` is not null. *zero says whether
 * they have to read as zeros, and then whether they do. NULL if the kernel has
 * no more, or if the place is taken.
 *
 * pre: size > 0, and it and alignment are multiples of the page size;
 * alignment is a power of 2. */
void *vf_pages_take(void *at, size_t size, size_t alignment, bool *zero);

/* They count as resident. False, and they stay with the caller, if there is no
 * memory to note them.
 *
 * pre: whole pages that were taken, or mapped by others and left to us. */
bool vf_pages_put(void *start, size_t size);

struct vf_pages_totals vf_pages_totals(void);

/* The least that was free and resident since the last call: nobody has missed
 * that much. */
size_t vf_pages_lowest(void);

/* Free, resident ranges, which nobody gets meanwhile. */
struct vf_pages_batch {
  int n;
  size_t bytes;
  struct iovec ranges[VF_BATCH_MAX];
};

/* The largest ranges, up to `bytes` in all; a part of the last one. Returns the
 * bytes of the batch, 0 if there is nothing to give.
 *
 * pre: bytes is a multiple of the page size. */
size_t vf_pages_begin_giving(struct vf_pages_batch *batch, size_t bytes);

/* They are clean now, if they were given. */
void vf_pages_end_giving(const struct vf_pages_batch *batch, bool given);

/* All free ranges are mapped no more. */
void vf_pages_unmap(void);

/* Around a fork, in this order. */
void vf_pages_before_fork(void);
void vf_pages_after_fork(bool is_child);

#endif /* VFRIENDLY_MALLOC_PAGES_H */

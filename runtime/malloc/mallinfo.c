/*===- malloc/mallinfo.c - glibc's figures of the heap --------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Without these functions a program would get the figures of glibc's own heap,
 * which is empty. Figures that describe glibc's data structures are 0.
 *===----------------------------------------------------------------------===*/

#include "common/process_wide.h"
#include "malloc/jemalloc.h"
#include "malloc/pages.h"
#include <limits.h>
#include <malloc.h>

struct figures {
  size_t heap;      /* bytes from the kernel that may have memory */
  size_t in_use;    /* bytes in blocks, including those in thread caches */
  size_t trimmable; /* bytes that malloc_trim returns at least */
};

static struct figures figures(void) {
  uint64_t epoch = 1;
  size_t size = sizeof epoch, allocated = 0;
  vf_je_mallctl("epoch", &epoch, &size, &epoch, size);
  size = sizeof allocated;
  vf_je_mallctl("stats.allocated", &allocated, &size, NULL, 0);
  struct vf_pages_totals totals = vf_pages_totals();
  size_t heap = totals.used + totals.resident;
  return (struct figures){heap, allocated < heap ? allocated : heap,
                          totals.resident};
}

#if __GLIBC_PREREQ(2, 33)
VF_API struct mallinfo2 mallinfo2(void) {
  struct figures now = figures();
  return (struct mallinfo2){.arena = now.heap,
                            .uordblks = now.in_use,
                            .fordblks = now.heap - now.in_use,
                            .keepcost = now.trimmable};
}
#endif

static int as_int(size_t bytes) {
  return bytes < INT_MAX ? (int)bytes : INT_MAX;
}

/* Numbers above INT_MAX are given as INT_MAX; glibc's wrap around. */
VF_API struct mallinfo mallinfo(void) {
  struct figures now = figures();
  return (struct mallinfo){.arena = as_int(now.heap),
                           .uordblks = as_int(now.in_use),
                           .fordblks = as_int(now.heap - now.in_use),
                           .keepcost = as_int(now.trimmable)};
}

/*===- numa-placement/shared.h - State shared by copies of libvfrt --------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_NUMA_PLACEMENT_SHARED_H
#define VFRIENDLY_NUMA_PLACEMENT_SHARED_H

#include "spin-wait/shared.h"

/* Counters of VF_STATS=1, in the order they are printed. */
enum vf_numa_counter {
  VF_NUMA_PLACED,  /* ranges that got a policy */
  VF_NUMA_TOUCHED, /* ranges touched by the threads of a team, because the guest
                      sees one node */
  VF_NUMA_ONE_NODE, /* calls that did nothing as there is one node */
  VF_NUMA_SMALL,    /* calls that did nothing, as the range has too few pages */
  VF_NUMA_HEAP, /* calls that did nothing, as the memory belongs to the brk heap
                 */
  VF_NUMA_REFUSED, /* calls that did nothing, as the kernel or a sandbox forbids
                      it */
  VF_NUMA_UNBOUND, /* blocks that were interleaved as no thread is bound */
  VF_NUMA_CLAIMED, /* pages moved by vf_numa_claim */
  VF_NUMA_COPIED,  /* copies by vf_numa_replicate */
  VF_NUMA_COUNTERS
};

/* Counters, accessed by relaxed atomics. Zero is a valid state, so they work
 * before any constructor runs. */
struct vf_numa_shared {
  uint64_t counters[VF_NUMA_COUNTERS];
  /* Written once: if the process contains several copies of libvfrt, by the
   * copy whose constructor runs first. */
  uint32_t configured;
  uint32_t touch_off; /* VF_NUMA_OPAQUE=off */
};
#define VF_NUMA_SHARED_SIZE 80

/* Name of the shared object; its digit is the version of the layout. */
extern VF_API struct vf_numa_shared vf_numa_shared_1;
#ifdef VF_FINDS_OTHERS
VF_FOUND(vf_numa_shared_1);
#define vf_numa_shared_1 (*(struct vf_numa_shared *)vf_numa_shared_1_found.at)
#endif

/* Adds the counters to the report of a library. */
struct vf_report;
void vf_report_numa(struct vf_report *report);

static inline void vf_numa_count(enum vf_numa_counter counter, uint64_t n) {
  if (vf_get(&vf_spin_shared_1.stats))
    __atomic_fetch_add(&vf_numa_shared_1.counters[counter], n,
                       __ATOMIC_RELAXED);
}

#endif /* VFRIENDLY_NUMA_PLACEMENT_SHARED_H */

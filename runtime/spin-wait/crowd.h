/*===- spin-wait/crowd.h - Evidence of over-commitment --------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * When more threads want to run than there are CPUs, spinning keeps the very
 * thread away that is waited for, and yielding is the fastest way to it; when
 * not, yielding is slower than spinning. Both show in what a wait does anyway:
 *
 *  - a batch of pauses that took far too long: this thread, or its whole vCPU,
 *    was taken off its CPU;
 *  - a yield that took longer than an empty one: another thread ran here.
 *
 * Run delay (/proc/thread-self/schedstat) and steal time (/proc/stat) are not
 * read. They say the same later and dearer (4.8 us and 10 us here, the second
 * growing with CPUs and interrupts), and a program that only spun before must
 * not start opening files from its loops: it may run out of descriptors, count
 * on their numbers, or be in a seccomp sandbox that kills it for openat.
 *
 * The evidence is a score, not a time stamp, so reading it needs no clock, and it
 * fades by contradiction: each empty yield takes one off.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_WAIT_CROWD_H
#define VFRIENDLY_SPIN_WAIT_CROWD_H

#include "spin-wait/shared.h"
#include <stdbool.h>

/* A batch of pauses takes half a microsecond. Interrupts take up to some 10 us;
 * being scheduled out takes longer. */
#define VF_GAP_NS 20000u
/* Here an empty yield takes 0.44 us, one that switches to another thread and
 * back 2.4 us or more. Where empty yields are slower than this, waits begin by
 * yielding: they react in the time of one yield instead of one pause. */
#define VF_SLOW_YIELD_NS 1500u
/* How many empty yields in a row, process-wide, end the belief in
 * over-commitment. A false alarm costs that many yields instead of pauses, 7 us
 * in all; a missed one costs a spin budget. */
#define VF_CROWD_MAX 16u

static inline bool vf_crowded(void) {
  return vf_get(&vf_spin_shared_1.crowd) != 0;
}

static inline void vf_crowd_seen(void) {
  uint32_t crowd = vf_get(&vf_spin_shared_1.crowd);
  if (crowd == VF_CROWD_MAX)
    return; /* Not writing keeps the line shared. */
  if (crowd == 0)
    vf_count(VF_SPIN_OVERCOMMIT, 1);
  vf_set(&vf_spin_shared_1.crowd, VF_CROWD_MAX);
}

static inline void vf_crowd_not_seen(void) {
  uint32_t crowd = vf_get(&vf_spin_shared_1.crowd);
  if (crowd != 0) /* A lost decrement costs one more yield. */
    vf_set(&vf_spin_shared_1.crowd, crowd - 1);
}

#endif /* VFRIENDLY_SPIN_WAIT_CROWD_H */

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
 *
 * Yielding is good only among waiters, who yield back at once. A thread that
 * computes keeps the CPU for its time slice, 3 ms here: with one such thread
 * beside 16 at a barrier a round took 2.7 ms by yielding and 0.13 ms by blocking,
 * since being woken does not wait for the end of a slice. So when yields take that
 * long again and again, all waits block instead of yielding for a while.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_WAIT_CROWD_H
#define VFRIENDLY_SPIN_WAIT_CROWD_H

#include "spin-wait/shared.h"
#include <stdbool.h>
#include <stdint.h>

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

/* Eight times what being woken costs; a yield among 64 waiters a CPU takes less.*/
#define VF_HOG_NS 200000u
/* A long yield that begins sooner after the last one than that took is no
 * accident: half of the time goes to others. With much less, yielding still beats
 * blocking, which is 2 to 10 times slower among 16 waiters. (On the Linux
 * 6.18 this was measured on, a yield forfeits the rest of the slice, so a computing
 * thread gets nearly all of the CPU.)
 *
 * It keeps the next waits from yielding for so many times as long: trying again,
 * twice, costs an eighth, against the factor of 10 or 20 that yielding to a hog
 * costs; and at most for 134 ms, as waits stay slower than need be for that long
 * after the hog has gone. */
#define VF_HOG_FACTOR 16u
#define VF_HOG_MAX_NS (UINT64_C(128) << 20)
/* Unit of hogged_until and hog_ended, 66 us: wraps after 3 days, costing one
 * spell of blocking. */
#define VF_HOG_UNIT_LOG2 16

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

/* A yield that ended now took so long. */
static inline void vf_hog_seen(uint64_t now, uint64_t took) {
  uint32_t ended = vf_get(&vf_spin_shared_1.hog_ended);
  uint32_t began = (uint32_t)((now - took) >> VF_HOG_UNIT_LOG2);
  int32_t between = (int32_t)(began - ended);
  vf_set(&vf_spin_shared_1.hog_ended, (uint32_t)(now >> VF_HOG_UNIT_LOG2));
  /* Whoever yielded before the same slice began also sees it. */
  if (between < 0 || between > (int64_t)(took >> VF_HOG_UNIT_LOG2))
    return;
  uint64_t spell = took * VF_HOG_FACTOR;
  if (spell > VF_HOG_MAX_NS)
    spell = VF_HOG_MAX_NS;
  uint32_t until = (uint32_t)((now + spell) >> VF_HOG_UNIT_LOG2);
  vf_set(&vf_spin_shared_1.hogged_until, until ? until : 1);
}

/* Whether a hog was seen at all: cheaper than vf_hogged, and outdated. */
static inline bool vf_hog_remembered(void) {
  return vf_get(&vf_spin_shared_1.hogged_until) != 0;
}

static inline bool vf_hogged(uint64_t now) {
  uint32_t until = vf_get(&vf_spin_shared_1.hogged_until);
  if (until == 0)
    return false;
  if ((int32_t)(until - (uint32_t)(now >> VF_HOG_UNIT_LOG2)) > 0)
    return true;
  vf_set(&vf_spin_shared_1.hogged_until, 0);
  return false;
}

#endif /* VFRIENDLY_SPIN_WAIT_CROWD_H */

/*===- spin-wait/crowd.h - Evidence of over-commitment --------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * If there are more runnable threads than CPUs, a spinning waiter may occupy
 * the CPU of the thread it waits for, and yielding lets that thread run
 * soonest. Otherwise yielding is slower than spinning. A wait recognises
 * over-commitment by the time that its own steps take:
 *
 *  - a batch of pauses took far too long: this thread, or its whole vCPU, was
 *    preempted;
 *  - a yield took longer than one without effect: another thread ran here.
 *
 * Run delay (/proc/thread-self/schedstat) and steal time (/proc/stat) show
 * over-commitment later and cost more: 4.8 us and 10 us here, where the second
 * grows with the number of CPUs and interrupts. Also, a program that only spun
 * must not begin to open files in its loops: it may run out of descriptors,
 * depend on their numbers, or be killed by a seccomp filter for openat.
 *
 * The evidence is a score and not a time stamp, so reading it needs no clock.
 * Each yield without effect decrements it.
 *
 * Yielding works among waiters, which yield back at once. A thread that
 * computes, called a hog below, keeps the CPU for its time slice, 3 ms here.
 * With one hog beside 16 threads at a barrier, a phase took 2.7 ms by yielding
 * and 0.13 ms by blocking, because a woken thread does not wait for the end of
 * a slice. After long yields all waits therefore block for a while.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_WAIT_CROWD_H
#define VFRIENDLY_SPIN_WAIT_CROWD_H

#include "spin-wait/limit.h"
#include "spin-wait/shared.h"
#include <stdbool.h>
#include <stdint.h>

/* Maximum time of a batch of pauses; in a batch that takes longer the thread
 * was preempted. A batch without a preemption normally takes half a
 * microsecond, and up to some 10 us with an interrupt. */
#define VF_GAP_NS 20000u
/* Maximum time of a yield without effect; a longer one has let another thread
 * run. On the development machine a yield without effect takes 0.44 us, a
 * switch to another thread and back 2.4 us or more. On machines with slower
 * yields, waits begin by yielding, and notice a change after a yield instead of
 * a pause. */
#define VF_SLOW_YIELD_NS 1500u
/* Number of consecutive yields, by any threads of the process, that let no
 * other thread run, after which the process no longer counts as over-committed.
 * Wrongly assuming over-commitment costs these yields, 7 us in all; not
 * noticing over-commitment costs a spin budget. */
#define VF_CROWD_MAX 16u

/* Minimum time of a yield to a hog, a thread that computes: eight times the
 * cost of a wake-up, and more than a yield among 64 waiters on a CPU takes. */
#define VF_HOG_NS 200000u
/* Long yields are a run if each begins no later after the one before than it
 * takes itself: hogs then have at least half of the time. If hogs get much
 * less, yielding is faster: among 16 waiters, blocking is 2 to 10 times slower.
 * (Measured on Linux 6.18, where a yield gives up the rest of the slice, so a
 * hog gets nearly all of the CPU.)
 *
 * After the second long yield of a run, waits block for this many times its
 * length, or for as long as the run has lasted if that is longer; at most
 * VF_HOG_MAX_NS. The run goes on if the next long yield begins soon after that.
 * So the yields by which hogs are noticed again take a sixteenth of the time at
 * first, and less later; always yielding to hogs would make waits 10 to 20
 * times slower. After hogs have gone, waits stay slower than necessary for as
 * long as the hogs were there, at least 16 times a yield to them (3 ms for each
 * hog on a CPU), at most half a second. */
#define VF_HOG_FACTOR 16u
#define VF_HOG_MAX_NS (UINT64_C(512) << 20)
/* While the group is stopped for a CPU limit now and then (limit.h), a yield
 * that took longer than this was such a stop and no hog: stops take up to a
 * period, 100 ms, and hogs on one CPU a slice each. Two threads that take turns
 * of 3 us under a limit of half a CPU blocked for 128 ms after each stop, and
 * took 1.3 times as long. */
#define VF_STOP_NS 10000000u
/* log2 of the unit of hogged_until and hog_ended, 66 us. They wrap after 3
 * days, which may cause one needless period of blocking. */
#define VF_HOG_UNIT_LOG2 16

/* Returns a time in units of VF_HOG_UNIT_LOG2; never 0. */
static inline uint32_t vf_hog_time(uint64_t ns) {
  uint32_t time = (uint32_t)(ns >> VF_HOG_UNIT_LOG2);
  return time ? time : 1;
}

/* Returns true if now is before *until, a vf_hog_time or 0. Sets *until to 0
 * otherwise. */
static inline bool vf_is_before(uint32_t *until, uint64_t now) {
  uint32_t time = vf_get(until);
  if (time == 0)
    return false;
  if ((int32_t)(time - (uint32_t)(now >> VF_HOG_UNIT_LOG2)) > 0)
    return true;
  vf_set(until, 0);
  return false;
}

static inline bool vf_crowded(void) {
  return vf_get(&vf_spin_shared_1.crowd) != 0;
}

static inline void vf_crowd_seen(void) {
  uint32_t crowd = vf_get(&vf_spin_shared_1.crowd);
  if (crowd == VF_CROWD_MAX)
    return; /* Not writing an unchanged value keeps the cache line shared. */
  if (crowd == 0)
    vf_count(VF_SPIN_OVERCOMMIT, 1);
  vf_set(&vf_spin_shared_1.crowd, VF_CROWD_MAX);
}

static inline void vf_crowd_not_seen(void) {
  uint32_t crowd = vf_get(&vf_spin_shared_1.crowd);
  if (crowd != 0) /* A lost decrement costs one more yield. */
    vf_set(&vf_spin_shared_1.crowd, crowd - 1);
}

static inline bool vf_hogged(uint64_t now) {
  return vf_is_before(&vf_spin_shared_1.hogged_until, now);
}

/* Records a yield that took longer than VF_HOG_NS and has just ended. */
static inline void vf_hog_seen(uint64_t now, uint64_t took) {
  if (took > VF_STOP_NS && vf_limit_is_near())
    return;
  if (vf_hogged(now))
    return; /* It began before the waits blocked. */
  struct vf_spin_shared *shared = &vf_spin_shared_1;
  uint32_t ended = (uint32_t)(now >> VF_HOG_UNIT_LOG2);
  uint32_t began = (uint32_t)((now - took) >> VF_HOG_UNIT_LOG2);
  int32_t between = (int32_t)(began - vf_get(&shared->hog_ended));
  bool runs = between <= (int64_t)(took >> VF_HOG_UNIT_LOG2);
  if (!runs)
    vf_set(&shared->hog_began, began);
  uint64_t run = (uint64_t)(ended - vf_get(&shared->hog_began))
                 << VF_HOG_UNIT_LOG2;
  uint64_t spell = 0;
  /* Yields that overlap may have waited for the same slice. With four threads
   * on two CPUs most yields to hogs overlap; together they last longer. */
  if (runs && (between >= 0 || run > 2 * took))
    spell = run > VF_HOG_FACTOR * took ? run : VF_HOG_FACTOR * took;
  if (spell > VF_HOG_MAX_NS)
    spell = VF_HOG_MAX_NS;
  vf_set(&shared->hog_ended, ended + (uint32_t)(spell >> VF_HOG_UNIT_LOG2));
  if (spell != 0)
    vf_set(&shared->hogged_until, vf_hog_time(now + spell));
}

/* Returns true if a hog was seen and vf_hogged has not cleared it yet. Needs no
 * clock, but may be outdated. */
static inline bool vf_hog_remembered(void) {
  return vf_get(&vf_spin_shared_1.hogged_until) != 0;
}

#endif /* VFRIENDLY_SPIN_WAIT_CROWD_H */

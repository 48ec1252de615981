/*===- spin-wait/shared.h - What all waits of a process share -------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * One block of zero-initialized memory per process, however many copies of
 * libvfrt it holds (shared.c says how). Zero is a working state: waits work
 * before any constructor ran.
 *
 * Every word here is a relaxed atomic that any thread may write at any time, in
 * a signal handler too. What a lost or wrong write costs stands beside it.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_WAIT_SHARED_H
#define VFRIENDLY_SPIN_WAIT_SHARED_H

#include "common/process_wide.h"
#include "vfriendly/spin_wait.h"

/* Only waiters blocked at the same time can meet in a bucket, and a meeting
 * costs one needless wake-up (some 5 us) a notify. 256 keeps that below 1 in 16
 * for 16 addresses with blocked waiters; the 16 KiB are touched only where
 * used. */
#define VF_SPIN_BUCKETS_LOG2 8
#define VF_SPIN_BUCKETS (1u << VF_SPIN_BUCKETS_LOG2)

struct vf_spin_bucket {
  /* What waiters sleep on. Incremented by a notify that found `armed` set.
   * Failing to increment it while someone sleeps here costs that sleeper its
   * timeout; incrementing it for nobody costs a sleeper one more poll. */
  uint32_t seq;
  /* Set by a waiter before it sleeps, cleared by the notify that takes over the
   * duty to wake everyone here. Sticky: no waiter ever clears it, so a waiter
   * that vanishes (longjmp, cancellation, exec) costs one empty wake. Legal to
   * set with nobody asleep; failing to set it before sleeping costs a
   * timeout.*/
  uint32_t armed;
  /* How many waits here ended by timeout and did not come back, so that their
   * notify must be missing; less those that a notify did wake. Counts may get
   * lost: it steers how long to sleep, nothing else. */
  uint32_t suspect;
  /* Set by a notify that woke somebody, cleared by a timeout that may have
   * missed one. Wrongly set, a missed notify costs 16 ms instead of 1; not set,
   * sleeps cost a timer interrupt's programming more. */
  uint32_t trusted;
} __attribute__((aligned(VF_CACHE_LINE)));

/* Counters of VF_STATS=1, in the order they are printed. Written only when
 * `stats` is on. */
enum vf_spin_counter {
  VF_SPIN_WAITS,        /* waits that outlasted the first pauses */
  VF_SPIN_SPUN,         /* timed batches of pauses */
  VF_SPIN_YIELDS,       /* sched_yield */
  VF_SPIN_BLOCKS,       /* sleeps that a notify can end */
  VF_SPIN_TIMEOUTS,     /* those that ended by timeout */
  VF_SPIN_WAKES,        /* waiters woken by notifies */
  VF_SPIN_NOTIFIES,     /* notifies that found their bucket armed */
  VF_SPIN_BLIND_SLEEPS, /* sleeps that nothing ends early */
  VF_SPIN_OVERCOMMIT,   /* times that over-commitment was noticed anew */
  VF_SPIN_COUNTERS
};

struct vf_spin_shared {
  /* Evidence that there are more runnable threads than CPUs to run them, see
   * crowd.h. On a line of its own, as every wait reads it. */
  uint32_t crowd __attribute__((aligned(VF_CACHE_LINE)));
  /* Until when yields are known to take long, see crowd.h; 0 if they don't. */
  uint32_t hogged_until;
  /* When the last long yield ended. Stale or lost: a spell begins a slice later
   * or one slice too early. */
  uint32_t hog_ended;
  /* What being woken takes here, see tuning.c; 0 before the first. A lost
   * update costs one measurement. */
  uint32_t wake_ns;
  /* When it was asked last whether CPU time counts (cpu_time.c), and in bit 0
   * the answer; 0 if never. A lost or stale one is asked again 10 ms later. */
  uint32_t cpu_time;

  /* The environment's say, see tuning.c. Written once, by the first copy's
   * constructor; zero means the default. */
  uint32_t configured __attribute__((aligned(VF_CACHE_LINE)));
  uint32_t budget_ns_plus_1;
  uint32_t notify_off;
  uint32_t stats;

  uint64_t counters[VF_SPIN_COUNTERS] __attribute__((aligned(VF_CACHE_LINE)));

  struct vf_spin_bucket buckets[VF_SPIN_BUCKETS];
};

/* The digit is the layout's version: copies with different layouts share
 * nothing but vf_spin_armed, which the ABI fixes. */
extern VF_API struct vf_spin_shared vf_spin_shared_1;

static inline uint32_t vf_get(const uint32_t *word) {
  return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline void vf_set(uint32_t *word, uint32_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static inline void vf_count(enum vf_spin_counter counter, uint32_t n) {
  if (vf_get(&vf_spin_shared_1.stats))
    __atomic_fetch_add(&vf_spin_shared_1.counters[counter], n,
                       __ATOMIC_RELAXED);
}

#endif /* VFRIENDLY_SPIN_WAIT_SHARED_H */

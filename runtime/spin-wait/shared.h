/*===- spin-wait/shared.h - State shared by a process's waits -------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * All copies of libvfrt in a process share one zero-initialized block of memory
 * (shared.c). Zero is a valid state, so waits work before any constructor runs.
 *
 * Each word is accessed by relaxed atomics, and any thread may write it at any
 * time, also in a signal handler. The comment of each word says what a lost or
 * wrong write costs.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_WAIT_SHARED_H
#define VFRIENDLY_SPIN_WAIT_SHARED_H

#include "common/process_wide.h"
#include "spin-wait/relaxed.h"
#include "vfriendly/spin_wait.h"

/* log2 of the number of buckets. Two waiters that sleep at the same time on
 * different addresses of one bucket cost each notify a needless wake-up, some 5
 * us. With 256 buckets and sleepers on 16 addresses, fewer than 1 notify in 16
 * causes such a wake-up. The buckets have 16 KiB, of which only buckets in use
 * are touched. */
#define VF_SPIN_BUCKETS_LOG2 8
#define VF_SPIN_BUCKETS (1u << VF_SPIN_BUCKETS_LOG2)

struct vf_spin_bucket {
  /* The futex word on which waiters sleep. A notify that finds `armed` set
   * increments it. Failing to increment it costs each sleeper its timeout;
   * incrementing it without need costs each sleeper one poll. */
  uint32_t seq;
  /* Set by a waiter before it sleeps, cleared by the notify that will wake all
   * sleepers. Waiters never clear it, so one that leaves without waking
   * (longjmp, cancellation, exec) costs one wake without effect. Legal to set
   * while no thread sleeps; failing to set it before sleeping costs a
   * timeout. */
  uint32_t armed;
  /* Number of sleeps that timed out and after which the condition of the wait
   * was true, which shows that a notify was missed, minus the number of sleeps
   * that a notify ended. Updates may get lost: the number only selects how to
   * sleep. */
  uint32_t suspect;
  /* Trust in notifies: grows with each sleep that one ended since one was
   * missed, up to a limit (block.c). If it is too large, a missed notify costs
   * 16 ms instead of 1, or twice the usual wait; if it is too small, each sleep
   * programs the timer. */
  uint32_t trusted;
  /* Number of thrifty spins (limit.h) that failed minus those that succeeded,
   * and how the last wait that counts began. Updates may get lost, and waiters
   * of one bucket share them: they only select the length of spins. */
  uint32_t failed;
  uint32_t began;
  /* Set by a sleep that timed out, cleared when its wait sleeps again: the
   * timeout was no missed notify then. */
  uint32_t doubted;
  /* Length of the longer ones of the last waits that a notify ended, in units
   * of 2^20 ns. Lost updates make timeouts too long or too short. */
  uint32_t usual;
  /* Number of spins in a row that did not end their wait, see history.h. */
  uint32_t in_vain;
} __attribute__((aligned(VF_CACHE_LINE)));

/* Counters of VF_STATS=1, in the order they are printed. Written only when
 * `stats` is on. */
enum vf_spin_counter {
  VF_SPIN_WAITS,        /* waits that were longer than the opening phase */
  VF_SPIN_SPUN,         /* timed batches of pauses */
  VF_SPIN_YIELDS,       /* sched_yield */
  VF_SPIN_BLOCKS,       /* sleeps that a notify can end */
  VF_SPIN_TIMEOUTS,     /* blocking sleeps that ended by timeout */
  VF_SPIN_WAKES,        /* waiters woken by notifies */
  VF_SPIN_NOTIFIES,     /* notifies that found waiters in their bucket */
  VF_SPIN_BLIND_SLEEPS, /* sleeps that nothing ends early */
  VF_SPIN_OVERCOMMIT,   /* times that over-commitment was noticed anew */
  VF_SPIN_COUNTERS
};

struct vf_spin_shared {
  /* Evidence that there are more runnable threads than CPUs, see crowd.h. On
   * its own cache line, as every wait reads it. */
  uint32_t crowd __attribute__((aligned(VF_CACHE_LINE)));
  /* Time until which waits block instead of yielding, see crowd.h; 0 if they
   * yield. */
  uint32_t hogged_until;
  /* When the last long yield ended, or the blocking after it ends. If the value
   * is stale or lost, a period of blocking begins one time slice too early or
   * too late. */
  uint32_t hog_ended;
  /* Measured time of a wake-up, see tuning.c; 0 before the first. A lost update
   * costs one measurement. */
  uint32_t wake_ns;
  /* Time of the last query for timers of CPU time (cpu_time.c), with its answer
   * in bit 0; 0 before the first. A lost or stale value lasts for 10 ms. */
  uint32_t cpu_time;
  /* When a wake-up was last recorded in wake_ns, see tuning.h. A lost or stale
   * value costs one measurement, or lets one more be made. */
  uint32_t recorded;
  /* When a yielding wait sleeps so that the kernel may move it, and how often
   * that was of no use, see move.h. A lost or stale value costs one sleep, or
   * lets threads share a CPU for longer. */
  uint32_t move_at;
  uint32_t moved_in_vain;
  /* The last thread that gave way in a wait which may not sleep, and the time
   * until which it does not do so again, see give_way in block.c; 0 if it does.
   * A lost or stale value costs a few polls or a time slice. */
  uint32_t poller;
  uint32_t kept_until;
  /* When the first of the long yields began that hog_ended ends. If the value
   * is stale, waits block one time slice too early or too late. */
  uint32_t hog_began;

  /* Settings from the environment, see tuning.c; zero means the default.
   * Written once: if the process contains several copies of libvfrt, by the
   * copy whose constructor runs first. */
  uint32_t configured __attribute__((aligned(VF_CACHE_LINE)));
  uint32_t budget_ns_plus_1;
  uint32_t notify_off;
  uint32_t stats;
  /* Set if the program or one of its libraries replaces a function of libc by
   * which loops give way, see foreign.h. */
  uint32_t foreign;

  uint64_t counters[VF_SPIN_COUNTERS] __attribute__((aligned(VF_CACHE_LINE)));

  struct vf_spin_bucket buckets[VF_SPIN_BUCKETS];
};

/* The suffix is the version of the layout. Copies with different layouts share
 * only vf_spin_armed, which is part of the ABI. */
extern VF_API struct vf_spin_shared vf_spin_shared_1;
#ifdef VF_FINDS_OTHERS
VF_FOUND(vf_spin_shared_1);
VF_FOUND(vf_spin_armed);
#define vf_spin_shared_1 (*(struct vf_spin_shared *)vf_spin_shared_1_found.at)
/* The word that waiters count in; see process_wide.c for the one that rewritten
 * code tests. */
#define vf_spin_armed (*(uint32_t *)vf_spin_armed_found.at)
#endif

static inline void vf_count(enum vf_spin_counter counter, uint32_t n) {
  if (vf_get(&vf_spin_shared_1.stats))
    __atomic_fetch_add(&vf_spin_shared_1.counters[counter], n,
                       __ATOMIC_RELAXED);
}

#endif /* VFRIENDLY_SPIN_WAIT_SHARED_H */

/*===- spin-wait/limit.h - Waiting under a limit of CPU time --------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A group of processes with a CPU limit is stopped as a whole, holders of locks
 * included, once its threads have used the CPU time of a period. A spinning
 * waiter then uses up the time of the thread it waits for. What counts is CPU
 * time, so such a "thrifty" wait spins for at most as long as a sleep and a
 * wake-up cost in CPU time, and less on addresses where such spins failed.
 *
 * But blocking also takes longer, by the time of a wake-up, and a group may
 * have CPU time to spare: two threads that take turns of 30 us under a limit of
 * 1.5 CPUs take 40 us for a turn if they spin and are stopped for a quarter of
 * the time, and 53 us if they sleep and use 0.8 CPUs. So only a share of the
 * waits is thrifty:
 *
 *   the group was stopped in the last tenth of a second   all waits but one
 *                                                         in VF_THRIFT_OF
 *   it used more than 95 % of its limit                   a quarter more
 *   it used less than 85 % of its limit                   1/16 less
 *
 *   begin:  vf_limit_look(now);
 *           budget = vf_limit_budget(vf_spin_budget_ns(), now);
 *
 * Without a limit, this costs a wait two loads.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_WAIT_LIMIT_H
#define VFRIENDLY_SPIN_WAIT_LIMIT_H

#include "common/report.h"
#include "platform/linux/cpu_groups.h"
#include "spin-wait/shared.h"
#include "spin-wait/tuning.h"
#include <stdbool.h>

/* Number of waits of which `thrifty` are thrifty. At most all but one are: the
 * one spins for the whole budget, and if it succeeds, spins on its address are
 * tried again. Such a trial costs up to 50 us, spread over 64 waits less than a
 * tenth of a sleep. */
#define VF_THRIFT_OF 64u
#define VF_THRIFT_MAX (VF_THRIFT_OF - 1)
/* log2 of the unit of `next`, 1.05 ms. It wraps after 52 days. */
#define VF_LIMIT_UNIT_LOG2 20

enum vf_limit_reason {
  VF_LIMIT_NONE,      /* no group has a limit, or nothing could be read */
  VF_LIMIT_SPARE,     /* CPU time to spare */
  VF_LIMIT_NEAR,      /* the limit is nearly used */
  VF_LIMIT_THROTTLED, /* the kernel has stopped the group */
  VF_LIMIT_REASONS
};

/* State that all copies of the runtime share. Words are accessed by relaxed
 * atomics, except for `groups` and what follows, which the reading thread owns.
 */
struct vf_limit_shared {
  /* Number of waits out of VF_THRIFT_OF that are thrifty. A stale value lasts
   * for one reading. */
  uint32_t thrifty __attribute__((aligned(VF_CACHE_LINE)));
  /* Time of the next reading; 0 if there is nothing to read. A lost update
   * costs a reading. */
  uint32_t next;
  /* Time at which a thread began to read, 0 if none reads. It is ignored after
   * two seconds: the thread may have been cancelled or be of another process,
   * from which this one was forked. If it only ran very late, two threads read
   * at once, and may make one wrong decision. */
  uint32_t reading;
  /* For the report. */
  uint32_t millicpus, readings, last;
  uint32_t reasons[VF_LIMIT_REASONS];
  uint32_t thrifty_waits;
  /* CPU time of a sleep, and of waking a thread: averages; 0 until measured. A
   * lost update costs a measurement. */
  uint32_t sleep_ns, wake_ns;

  struct vf_cpu_groups groups __attribute__((aligned(VF_CACHE_LINE)));
  const void *unused;
  uint64_t used_ns;  /* CPU time of the process at the last reading */
  int seccomp;       /* mode when the groups were found */
  uint32_t cpus;     /* on which the process could run at the start */
  uint32_t started;  /* set by the library that has found the groups */
  uint32_t attempts; /* to find the groups again */
};
extern VF_API struct vf_limit_shared vf_limit_1;
#ifdef VF_FINDS_OTHERS
VF_FOUND(vf_limit_1);
#define vf_limit_1 (*(struct vf_limit_shared *)vf_limit_1_found.at)
#endif

/* Reads the groups and decides. */
void vf_limit_read(uint64_t now);

/* Reads the groups if that is due. Called by waits that take longer than a
 * fraction of a microsecond. */
static inline void vf_limit_look(uint64_t now) {
  uint32_t next = vf_get(&vf_limit_1.next);
  if (__builtin_expect(next != 0, 0) &&
      (int32_t)((uint32_t)(now >> VF_LIMIT_UNIT_LOG2) - next) >= 0)
    vf_limit_read(now);
}

/* Returns true if some waits are thrifty. */
static inline bool vf_limit_is_near(void) {
  return __builtin_expect(vf_get(&vf_limit_1.thrifty) != 0, 0);
}

/* Returns true if the wait that began at this time is thrifty. Any number that
 * differs from wait to wait may stand for the time. */
static inline bool vf_limit_counts(uint64_t began) {
  uint32_t thrifty = vf_get(&vf_limit_1.thrifty);
  return vf_limit_is_near() &&
         (began * UINT64_C(0x9e3779b97f4a7c15) >> 32) % VF_THRIFT_OF < thrifty;
}

/* CPU time that a sleep takes from both threads, in this machine; between a
 * quarter and four times of VF_SLEEP_COSTS_NS, which it is until measured. */
static inline uint64_t vf_limit_sleep_costs(void) {
  uint32_t sleep = vf_get(&vf_limit_1.sleep_ns),
           wake = vf_get(&vf_limit_1.wake_ns), both = sleep + wake;
  return sleep == 0 || wake == 0        ? VF_SLEEP_COSTS_NS
         : both < VF_SLEEP_COSTS_NS / 4 ? VF_SLEEP_COSTS_NS / 4
         : both > VF_SLEEP_COSTS_NS * 4 ? VF_SLEEP_COSTS_NS * 4
                                        : both;
}

/* Measures one sleep or wake-up in 64, near a limit:
 *   uint64_t cpu = vf_limit_measures(seq);
 *   ... sleep or wake ...
 *   if (cpu)
 *     vf_limit_measured(&vf_limit_1.sleep_ns, cpu, 1);
 * Returns the CPU time of the thread, or 0 if this one is not measured. */
uint64_t vf_limit_cpu_ns(void);
static inline uint64_t vf_limit_measures(uint32_t number) {
  return vf_limit_is_near() && number % 64 == 0 ? vf_limit_cpu_ns() : 0;
}
/* The thread had used `cpu` at the beginning, and did it n times. */
void vf_limit_measured(uint32_t *average, uint64_t cpu, uint32_t n);

/* Returns the time for which a wait that began at this time may spin, where it
 * could spin for `budget` without a limit. A budget that the user has set
 * stays. */
static inline uint64_t vf_limit_budget(uint64_t budget, uint64_t began) {
  if (!vf_limit_counts(began) ||
      vf_get(&vf_spin_shared_1.budget_ns_plus_1) != 0)
    return budget;
  uint64_t costs = vf_limit_sleep_costs();
  return budget < costs ? budget : costs;
}

/* Number of failed spins after which thrifty ones are not worth the time to
 * begin them: an eighth of what a sleep costs. */
#define VF_FAILED_SPINS 3u
/* Number of failed spins, later ones of trials, after which there are no more
 * trials than of other waits. */
#define VF_FAILED_MAX 6u

/* Returns true if a wait for a notify of the bucket is thrifty, near a limit.
 * The others are trials. Where spins begin to fail, one wait in four is one,
 * and half as many after each that fails: two threads that took turns by
 * spinning, and were stopped, sleep in turn until a trial succeeds. */
static inline bool vf_limit_is_thrifty(const struct vf_spin_bucket *bucket,
                                       uint64_t began) {
  uint32_t failed = vf_get(&bucket->failed);
  return vf_limit_counts(began) &&
         (failed == 0 || failed >= VF_FAILED_MAX ||
          (began * UINT64_C(0x9e3779b97f4a7c15) >> 40) % (2u << failed) != 0);
}

/* Like vf_limit_budget, for a wait for a notify of the bucket, near a limit. A
 * thrifty wait spins less where such spins failed. A trial succeeds only if it
 * lasts as long as the wake-up of the other thread, which the usual budget,
 * that of the quickest ones, need not. */
static inline uint64_t vf_limit_notified(const struct vf_spin_bucket *bucket,
                                         uint64_t budget, uint64_t began) {
  uint32_t failed = vf_get(&bucket->failed);
  if (vf_get(&vf_spin_shared_1.budget_ns_plus_1) != 0)
    return budget;
  if (vf_limit_is_thrifty(bucket, began))
    return vf_limit_budget(budget, began) >>
           (failed < VF_FAILED_SPINS ? failed : VF_FAILED_SPINS);
  return failed != 0 && budget < VF_BUDGET_DEFAULT_NS ? VF_BUDGET_DEFAULT_NS
                                                      : budget;
}

/* Called when a wait for a notify of the bucket begins (began as above), and
 * when it ends its spin. A caller that leaves its loop does not tell the
 * runtime, so the spin of a wait that has not called vf_limit_blocks before the
 * next one begins counts as successful. Both only if vf_limit_is_near(). */
void vf_limit_began(struct vf_spin_bucket *bucket, uint64_t began);
void vf_limit_blocks(struct vf_spin_bucket *bucket);

/* Finds the groups, and begins to read them, unless another library of the
 * process has done so. The constructor of each library and each copy of one
 * calls it; tests call it with other places.
 * *where must stay valid. */
void vf_limit_start(const struct vf_cpu_groups_at *where);

/* Closes the files of the groups. Called before vf_limit_1 vanishes. */
void vf_limit_end(void);

/* Adds "limit": {...} to the report if a group has or had a limit. */
void vf_report_limit(struct vf_report *report);

#endif /* VFRIENDLY_SPIN_WAIT_LIMIT_H */

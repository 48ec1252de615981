/*===- cpu-limits/yields.c - Threads that wait by sched_yield -------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Threads of OpenBLAS 0.3.21 and of other pools wait by calling sched_yield in
 * a loop, for 28 ms. With a CPU for each thread a yield returns at once. But
 *
 *   beside a thread that computes   it returns after that thread's slice of
 *                                   3 ms, also if the wait has ended long ago
 *   near a limit of CPU time        the loop uses up the time of the thread
 *                                   that it waits for
 *
 * There, the calls of such a loop sleep, for at most half of the time that the
 * thread has waited; a thread that wakes runs before one that computes. The
 * first calls of each loop pause or yield: most waits are short.
 *
 *   yields in a row: less than GAP_NS between a return and the next call
 *
 *   yield ----- it took as long as a slice ----------> pause, then sleep
 *         <---- a trial of a yield returns at once ---
 *         ----- near a limit (spin-wait/limit.h) ----> yield, then sleep
 *
 * sched_yield promises no time, so a program can notice this by its speed only.
 * Threads with real-time policies yield as they say: there a yield lets others
 * of the same priority run.
 *===----------------------------------------------------------------------===*/

#include "common/process_wide.h"
#include "cpu-limits/steer.h"
#include "platform/linux/kernel.h"
#include "relax.h"
#include "spin-wait/limit.h"
#include <sched.h>
#include <sys/prctl.h>

/* Maximum time between the yields of a loop that only waits. OpenBLAS' takes
 * 0.1 us; a loop that takes longer does some work. */
#define GAP_NS 1000u
/* Number of calls of a loop that do not sleep: some 14 us of yields, as long as
 * a sleep costs (VF_SLEEP_COSTS_NS), or 8 us of pauses. */
#define CALLS_BEFORE_SLEEP 32u
/* Pauses of a call: a quarter of a microsecond or more. */
#define PAUSES 8u
/* Time of a yield in which a thread that computes has run (crowd.h). */
#define SLICE_NS 200000u
/* Sleeps after such a yield before the next one is tried, and the maximum after
 * many. A trial costs a slice; so many sleeps take 100 ms or more. */
#define AVOIDED 32u
#define AVOIDED_MAX 1024u
/* A sleep takes 50 us longer, Linux' timer slack; shorter ones are not worth
 * their cost. At the maximum a wait ends at most 1 ms late. */
#define SLEEP_MIN_NS 50000u
#define SLEEP_MAX_NS 1000000u

/* A thread's yields; 40 bytes of initial-exec TLS. */
static __thread struct {
  uint64_t began, returned; /* the loop, and its last call */
  uint32_t calls;           /* of the loop */
  uint32_t avoid, avoided;  /* sleeps before a trial: left, and at first */
} mine;

static void yield(uint64_t now) {
  vf_yield();
  mine.returned = vf_now_ns();
  if (mine.returned - now < SLICE_NS) {
    mine.avoided = 0;
    return;
  }
  mine.avoided = mine.avoided == 0            ? AVOIDED
                 : mine.avoided < AVOIDED_MAX ? 2 * mine.avoided
                                              : AVOIDED_MAX;
  mine.avoid = mine.avoided;
}

/* Returns false if a sleep would not do what a yield does, or may not be
 * allowed. */
static bool may_sleep(void) {
  int policy = (int)syscall(SYS_sched_getscheduler, 0) & ~SCHED_RESET_ON_FORK;
  return policy != SCHED_FIFO && policy != SCHED_RR && !vf_limit_is_filtered();
}

static void wait_once(void) {
  uint64_t now = vf_now_ns();
  if (now - mine.returned > GAP_NS) {
    mine.began = now;
    mine.calls = 0;
  }
  ++mine.calls;
  vf_limit_look(now);
  bool avoids = mine.avoid != 0;
  if (!avoids && !vf_limit_counts(mine.began)) {
    yield(now);
    return;
  }
  if (mine.calls <= CALLS_BEFORE_SLEEP) {
    for (unsigned i = 0; avoids && i != PAUSES; ++i)
      vf_relax();
    if (!avoids)
      yield(now);
    mine.returned = vf_now_ns();
    return;
  }
  if (!may_sleep()) {
    yield(now);
    return;
  }
  mine.avoid -= avoids;
  uint64_t half = (now - mine.began) / 2;
  vf_omp_count(VF_OMP_YIELDS_SLEPT, 1);
  vf_sleep_ns(half < SLEEP_MIN_NS   ? SLEEP_MIN_NS
              : half > SLEEP_MAX_NS ? SLEEP_MAX_NS
                                    : half);
  mine.returned = vf_now_ns();
}

VF_API int sched_yield(void) {
  if (vf_omp_is_on())
    wait_once();
  else
    vf_yield();
  return 0;
}

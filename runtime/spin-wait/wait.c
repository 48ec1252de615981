/*===- spin-wait/wait.c - Pause, then yield, then block -------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A wait goes through phases. Each call is one step of bounded length:
 *
 *   opening   pauses without reading the clock: waits that end within a
 *             fraction of a microsecond cost a function call
 *   spinning  batches of pauses, doubling up to half a microsecond, until the
 *             spin budget is used up
 *   yielding  sched_yield while others run on this CPU; now and then a sleep
 *             (move.h)
 *   blocking  block.c
 *
 * Evidence of over-commitment (crowd.h) ends the first two phases at once, and
 * later waits begin by yielding. On evidence of threads that do not yield back,
 * later waits block after the opening phase. Waits that try to take a lock spin
 * nevertheless: a yield to a thread that computes takes a time slice, during
 * which the lock was free many times. PARSEC's streamcluster, for example,
 * tries a lock after each barrier.
 *
 * While a CPU-time timer may end the wait (cpu_time.h), or if the program
 * defines sched_yield and the like by itself (foreign.h), the last two phases
 * pause instead.
 *===----------------------------------------------------------------------===*/

#include "common/sites.h"
#include "platform/linux/kernel.h"
#include "relax.h"
#include "spin-wait/block.h"
#include "spin-wait/cpu_time.h"
#include "spin-wait/crowd.h"
#include "spin-wait/foreign.h"
#include "spin-wait/history.h"
#include "spin-wait/limit.h"
#include "spin-wait/move.h"
#include "spin-wait/shared.h"
#include "spin-wait/state.h"
#include "spin-wait/tuning.h"
#include <stdbool.h>
#include <stddef.h>

/* Number of calls in the opening phase. Each call makes a single pause, and all
 * take half a microsecond, several times as long as a hand-over between running
 * threads (70 ns on the development machine). With 64 calls, two threads on two
 * CPUs were no faster. */
#define VF_OPENING_CALLS 16u
/* Time that a batch of pauses must take before its number of pauses stops
 * doubling, so that no batch takes much more than 512 ns. This is a fifth of
 * the quickest wake-up (2.6 us, sleeper and waker on one CPU), and long against
 * two reads of the clock (42 ns). */
#define VF_BATCH_NS 256u
/* log2 of the maximum number of pauses in a batch, for processors on which a
 * pause does nothing: 1024 iterations take half a microsecond on any machine.
 */
#define VF_BATCH_MAX_LOG2 10u
/* Maximum time of yielding. Yields that let others run are the cheapest way to
 * wait under over-commitment (1.2 us for a switch against 3 to 7 us to wake a
 * sleeper, 23 us on another CPU). 16 threads may all have run once in this
 * time; after it, yielding waiters delay threads that do work. */
#define VF_YIELDING_NS 1000000u
/* Minimum number of yields before VF_YIELDING_NS applies. A single yield may
 * take as long as that if an unrelated thread gets a time slice, and in a queue
 * of waiters a waiter that blocks delays all waiters after it. */
#define VF_YIELDS_MIN 4u

/* Number of pauses: about half a microsecond, as the longest batch of the
 * spinning phase. */
#define VF_BURNING_PAUSES 16u

static uint64_t enter(uint64_t state, uint64_t phase) {
  return vf_with(vf_with(state, VF_PHASE, phase), VF_ROUND, 0);
}

/* Ends the spinning phase. */
static uint64_t enter_yielding(uint64_t state, uint64_t now) {
  return enter(state, vf_hogged(now) ? VF_BLOCKING : VF_YIELDING);
}

/* Returns the time for which the wait may spin. `bucket` is null if no notify
 * ends it; in_vain says that its last waits have all slept. */
static uint64_t budget_of(const struct vf_spin_bucket *bucket, uint64_t state,
                          bool in_vain) {
  uint64_t budget = vf_spin_budget_ns(), began = vf_field(state, VF_STARTED);
  if (!bucket)
    return vf_limit_is_near() ? vf_limit_budget(budget, began) : budget;
  if (vf_limit_is_near())
    return vf_limit_notified(bucket, budget, began);
  return in_vain && budget > VF_SHORT_SPIN_NS ? VF_SHORT_SPIN_NS : budget;
}

static uint64_t spin(uint64_t state, uint64_t begin, uint64_t budget) {
  uint64_t round = vf_field(state, VF_ROUND);
  for (uint64_t n = UINT64_C(1) << round; n != 0; --n)
    vf_relax();
  uint64_t end = vf_now_ns(), took = end - begin;
  vf_count(VF_SPIN_SPUN, 1);
  if (took > VF_GAP_NS) {
    vf_crowd_seen();
    return enter_yielding(state, end);
  }
  if (took < VF_BATCH_NS && round < VF_BATCH_MAX_LOG2)
    state = vf_with(state, VF_ROUND, round + 1);
  state = vf_burn(state, took);
  return vf_burnt(state) < budget ? state : enter_yielding(state, end);
}

static uint64_t yield(uint64_t state, uint64_t begin, uint64_t budget) {
  vf_yield();
  uint64_t end = vf_now_ns();
  vf_count(VF_SPIN_YIELDS, 1);
  if (end - begin > VF_SLOW_YIELD_NS) {
    vf_crowd_seen();
    if (end - begin > VF_HOG_NS)
      vf_hog_seen(end, end - begin);
  } else {
    vf_crowd_not_seen();
    vf_runs_alone();
    state = vf_burn(state, end - begin);
    if (vf_burnt(state) >= budget)
      return enter(state, VF_BLOCKING);
  }
  uint64_t yields = vf_field(state, VF_ROUND) + 1;
  if (vf_hogged(end) ||
      (yields > VF_YIELDS_MIN && vf_waited(state, end) > VF_YIELDING_NS))
    return enter(state, VF_BLOCKING);
  return yields > VF_YIELDS_MIN ? state : vf_with(state, VF_ROUND, yields);
}

/* Pauses instead of sleeping, because a sleep would stop a running timer of CPU
 * time (ITIMER_PROF). The phase becomes VF_BLOCKING nevertheless: this phase
 * tells locks that sleep by themselves (blocking-sync/waiting.h) that the spin
 * is over. */
static uint64_t burn(uint64_t state) {
  for (unsigned i = 0; i != VF_BURNING_PAUSES; ++i)
    vf_relax();
  vf_count(VF_SPIN_SPUN, 1);
  return enter(state, VF_BLOCKING);
}

/* Ends the opening phase. The later phases measure time. */
static uint64_t begin(uint64_t state, bool trying, uint64_t now) {
  vf_count(VF_SPIN_WAITS, 1);
  state = vf_started_at(state | VF_LIVE, now);
  return vf_crowded() && !trying ? enter_yielding(state, now)
                                 : enter(state, VF_SPINNING);
}

static void begin_notified(struct vf_spin_bucket *bucket, uint64_t began) {
  vf_history_began(bucket, began);
  if (vf_limit_is_near())
    vf_limit_began(bucket, began);
}

static void end_spin(struct vf_spin_bucket *bucket) {
  vf_history_slept(bucket);
  if (vf_limit_is_near())
    vf_limit_blocks(bucket);
}

/* Returns true if the wait may only pause: the loop's own calls may do what it
 * waits for (foreign.h), or CPU time counts. */
static inline bool stays_awake(uint32_t how, uint64_t now) {
  return how & VF_SPIN_AWAKE || vf_calls_are_foreign() ||
         vf_cpu_time_counts(now);
}

/* Returns true if the wait sleeps without a query of the timers, which takes as
 * much CPU time as the sleep (cpu_time.h): notifies have ended its bucket's
 * sleeps, and the last query has found no timer. Should a timer of CPU time end
 * this wait after all, the sleep times out first, and the wait queries then. */
static inline bool sleeps_surely(const struct vf_spin_bucket *bucket,
                                 uint64_t state) {
  return bucket && vf_spin_is_trusted(bucket) &&
         !vf_field(state, VF_TIMED_OUT) && !vf_cpu_time_counted() &&
         !vf_calls_are_foreign();
}

static inline uint64_t wait_at(const volatile void *addr, uint64_t observed,
                               uint64_t state, uint32_t how, uintptr_t place) {
  bool opening = vf_field(state, VF_PHASE) == VF_OPENING,
       trying = how & VF_SPIN_TRYLOCK;
  if (opening && vf_field(state, VF_ROUND) < VF_OPENING_CALLS &&
      (trying || !vf_crowded() || vf_hog_remembered())) {
    vf_relax();
    return (state | VF_LIVE) + (UINT64_C(1) << VF_ROUND.shift);
  }
  uint64_t now = vf_now_ns();
  if (opening)
    state = begin(state, trying, now);
  uint64_t phase = vf_field(state, VF_PHASE);
  if (opening && phase != VF_SPINNING && how & VF_SPIN_SLEEPS_ITSELF) {
    vf_limit_look(now);
    return state;
  }
  struct vf_spin_bucket *bucket =
      how & VF_SPIN_NOTIFIED ? vf_spin_bucket_of(addr) : NULL;
  if (phase == VF_BLOCKING) {
    if (opening)
      vf_limit_look(now);
    return (how & VF_SPIN_AWAKE || !sleeps_surely(bucket, state)) &&
                   stays_awake(how, now)
               ? burn(state)
               : vf_spin_block(addr, observed, state, how, place);
  }
  bool in_vain =
      bucket && vf_history_is_bad(bucket, vf_field(state, VF_STARTED));
  if (opening && bucket)
    begin_notified(bucket, vf_field(state, VF_STARTED));
  if (opening && in_vain && vf_history_is_long(bucket)) {
    state = enter(state, VF_BLOCKING);
    end_spin(bucket);
    return state;
  }
  /* Not before a wait that sleeps at once, which no limit changes: the look
   * takes as long as the sleep. */
  if (opening)
    vf_limit_look(now);
  uint64_t budget = budget_of(bucket, state, in_vain);
  if (phase == VF_SPINNING)
    state = spin(state, now, budget);
  else if (stays_awake(how, now))
    return burn(state);
  else if (opening && bucket && vf_should_move(now))
    return vf_spin_block(addr, observed, enter(state, VF_BLOCKING), how, place);
  else
    state = yield(state, now, budget);
  /* Where the last waits have all slept, they have yielded in vain, too. */
  if (in_vain && vf_would_yield(state))
    state = enter(state, VF_BLOCKING);
  if (bucket && vf_would_block(state))
    end_spin(bucket);
  return state;
}

VF_API uint64_t vf_spin_wait(const volatile void *addr, uint64_t observed,
                             uint64_t state, uint32_t how) {
  return wait_at(addr, observed, state, how, VF_CALLER);
}

VF_API uint64_t vf_spin_backoff(uint64_t state, uint32_t how) {
  return wait_at(NULL, 0, state, how & ~VF_SPIN_SIZE_MASK, VF_CALLER);
}

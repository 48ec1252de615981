/*===- spin-wait/bounded_steps.h - Steps of a bounded wait ----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The caller polls a limited number of times before it takes a mutex or gives
 * up. The limit is meant as a length of time. To keep that length, the number
 * of polls that the waiter could have made while other threads ran is
 * subtracted from the limit.
 *
 * The cost of a poll is measured from the return of one call to the entry of
 * the next. If each thread has a CPU, the loop only polls, in windows of some
 * microseconds, and yields once per spin budget to test whether this is still
 * so. On evidence of over-commitment (crowd.h) it yields after each poll. If
 * yields take long, it blocks, provided that a writer notifies and the wait may
 * last long enough. Without a notifying writer it only polls: a yield would
 * take more time than is left for the wait. While a signal that CPU time
 * triggers may arrive (cpu_time.h), it only polls, because time without the CPU
 * does not bring that signal nearer; likewise if the program defines
 * sched_yield and the like by itself (foreign.h).
 *
 * With VF_SPIN_MAY_WORK the caller may do work between two calls. The number of
 * polls left is not used, a long window is no evidence of over-commitment, and
 * the caller polls for a window between two yields, so that what it does takes
 * about as many iterations in a second as without the calls.
 *
 * bounded.c uses this file for the runtime, and alone/linux.c for
 * programs without it. Include before: vf_now_ns, vf_yield, vf_spin_budget_ns,
 * vf_cpu_time_counts, vf_calls_are_foreign and vf_spin_block_for.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_WAIT_BOUNDED_STEPS_H
#define VFRIENDLY_SPIN_WAIT_BOUNDED_STEPS_H

#include "spin-wait/crowd.h"
#include "spin-wait/limit.h"
#include "spin-wait/state.h"

/* Number of blocks of polls to make before the next call, minus one
 * (VF_SPIN_POLLS_MASK). */
static const struct vf_field VF_POLLS = {0, 16};
/* When the last call returned, in nanoseconds. Wraps after 4.3 s: a thread that
 * was off its CPU for that long measures one window wrongly. */
static const struct vf_field VF_RETURNED = {16, 32};
/* log2 of the number of blocks in a window. */
static const struct vf_field VF_WINDOW = {48, 4};
/* Time spun since the last yield, in units of 1.02 us; saturates at 261 us. */
static const struct vf_field VF_SPENT = {52, 8};
#define VF_SPENT_UNIT_LOG2 10

/* Minimum time of a window, after which the clock is read again; a window takes
 * at most twice as long. The call and the clock take some 45 ns on the
 * development machine, 1 % of that. */
#define VF_WINDOW_NS 4000u
/* The unit of costs is 1/1024 ns, so that a poll of a quarter of a nanosecond,
 * one cycle at 4 GHz, is known to 0.4 %. Costs saturate at 4.2 ms. */
#define VF_COST_LOG2 10
/* Shortest wait worth a sleep: twice what sleeping and waking take, most of it
 * timer slack (block.c). */
#define VF_SLEEP_MIN_NS 150000u
/* Maximum time to subtract from a wait at once: about a time slice. In the time
 * in which all other threads run once, a thread that does not yield uses no
 * more CPU time than that. If longer times were subtracted completely, a wait
 * could end before the awaited thread had run: other processes may have used
 * the CPU, or all threads were stopped (SIGSTOP, a paused VM). */
#define VF_GIVEN_MAX_NS 4000000u
/* Time for which waits yield to hogs (threads that compute) after a wait has
 * polled beside a hog until it gave up: the awaited thread may have needed this
 * CPU. A program that repeats such waits without a sleep in between spends at
 * most VF_GIVEN_MAX_NS of this time on polls, 3 %. */
#define VF_IN_VAIN_NS (UINT64_C(128) << 20)

/* Time, in units of vf_hog_time, until which waits yield to hogs; 0 if they may
 * poll beside a hog. */
static uint32_t in_vain_until;

/* Updates a measured cost: lower values replace it at once, higher ones pull it
 * up by a sixteenth. Interrupts and other load on the core lengthen a window;
 * nothing shortens it. */
static void learn(uint32_t *cost, uint32_t known, uint64_t took,
                  uint64_t polls) {
  uint64_t now = (took << VF_COST_LOG2) / polls;
  if (now > UINT32_MAX)
    now = UINT32_MAX;
  if (now == 0)
    now = 1;
  if (known != 0 && now > known)
    now = known + (now - known + 15) / 16;
  if (now != known)
    vf_set(cost, (uint32_t)now);
}

static uint64_t block_of(uint32_t how) {
  uint32_t polls = how >> 16;
  return polls != 0 ? polls : 1;
}

/* Returns the expected time of a window of 2^window blocks. */
static uint64_t window_ns(uint32_t cost, uint32_t how, uint64_t window) {
  return cost * block_of(how) << window >> VF_COST_LOG2;
}

/* Returns log2 of the blocks that take VF_WINDOW_NS; twice the last window
 * while the cost is unknown. At least two blocks: VF_POLLS == 0, a single
 * block, marks polls between yields, which are not measured. */
static uint64_t window_for(uint32_t cost, uint32_t how, uint64_t window) {
  if (cost == 0)
    return window < vf_max(VF_WINDOW) ? window + 1 : window;
  for (window = 1; window < vf_max(VF_WINDOW); ++window)
    if (window_ns(cost, how, window) >= VF_WINDOW_NS)
      break;
  return window;
}

/* Returns the number of polls that take ns. The remainder is rounded up with a
 * probability equal to its fraction of a poll, by the low bits of the clock, so
 * that the number is right on average. */
static uint64_t polls_in(uint64_t ns, uint32_t cost, uint64_t now) {
  if (cost == 0)
    return 0;
  uint64_t units = ns << VF_COST_LOG2;
  return units / cost +
         ((now * UINT64_C(0x9e3779b97f4a7c15) >> 32) % cost < units % cost);
}

static struct vf_spin_bounded answer(uint64_t state, uint64_t now,
                                     uint64_t skip, uint64_t blocks) {
  state = vf_with(state | VF_LIVE, VF_RETURNED, now);
  return (struct vf_spin_bounded){vf_with(state, VF_POLLS, blocks - 1), skip};
}

/* Adds the polls since the last call to the time spent, and learns from them
 * what a poll costs. */
static uint64_t spun(uint64_t state, uint64_t now, uint32_t *cost,
                     uint32_t known, uint32_t how) {
  uint32_t took = (uint32_t)now - (uint32_t)vf_field(state, VF_RETURNED);
  uint64_t window = vf_field(state, VF_WINDOW);
  uint64_t expected = window_ns(known, how, window);
  vf_count(VF_SPIN_SPUN, 1);
  if (known != 0 && took > 2 * expected + VF_GAP_NS &&
      !(how & VF_SPIN_MAY_WORK)) {
    vf_crowd_seen();
    return state;
  }
  /* Learns also if the window took much less than expected: the thread was then
   * off its CPU during the window from which the cost was learnt. */
  if (took >= VF_WINDOW_NS || window == vf_max(VF_WINDOW) ||
      took < expected / 2)
    learn(cost, known, took, block_of(how) << window);
  uint64_t spent = vf_field(state, VF_SPENT) + (took >> VF_SPENT_UNIT_LOG2) + 1;
  return vf_with(state, VF_SPENT,
                 spent < vf_max(VF_SPENT) ? spent : vf_max(VF_SPENT));
}

static bool has_spent_its_budget(uint64_t state, uint64_t now) {
  uint64_t spent = vf_field(state, VF_SPENT);
  return spent == vf_max(VF_SPENT) ||
         spent << VF_SPENT_UNIT_LOG2 >=
             vf_limit_budget(vf_spin_budget_ns(), now);
}

/* Lets other threads run once: blocks, beside hogs and where CPU time counts
 * (limit.h), or yields. Returns false without doing
 * either if a hog would keep the CPU for longer than the wait may last: the
 * wait would end late, long after the holder of a lock on another CPU has
 * released it. A wait with a notifying writer yields nevertheless: what looks
 * like a hog may be that writer, at work between two notifies. */
static bool give_way(const volatile void *addr, uint64_t observed, uint32_t how,
                     uint64_t most_ns, uint64_t begin) {
  bool is_hogged = vf_hogged(begin);
  if ((is_hogged || vf_limit_counts(begin)) && most_ns >= VF_SLEEP_MIN_NS &&
      vf_spin_block_for(addr, observed, how, most_ns))
    return true;
  if (is_hogged) {
    if (most_ns < VF_GIVEN_MAX_NS && !(how & VF_SPIN_NOTIFIED) &&
        !vf_is_before(&in_vain_until, begin))
      return false;
  }
  vf_yield();
  uint64_t end = vf_now_ns();
  vf_count(VF_SPIN_YIELDS, 1);
  if (end - begin <= VF_SLOW_YIELD_NS) {
    vf_crowd_not_seen();
    return true;
  }
  vf_crowd_seen();
  if (end - begin > VF_HOG_NS)
    vf_hog_seen(end, end - begin);
  return true;
}

/* The contract is that of vf_spin_wait_bounded. */
static inline struct vf_spin_bounded
vf_bounded_step(const volatile void *addr, uint64_t observed, uint64_t state,
                uint32_t how, uint64_t left, uint32_t *cost) {
  uint64_t begin = vf_now_ns();
  uint32_t known = vf_get(cost);
  if (!(state & VF_LIVE)) {
    vf_count(VF_SPIN_WAITS, 1);
    vf_limit_look(begin);
    state = vf_with(0, VF_WINDOW, window_for(known, how, 0));
  } else if (vf_field(state, VF_POLLS) != 0) {
    state = spun(state, begin, cost, known, how);
    known = vf_get(cost);
    state = vf_with(state, VF_WINDOW,
                    window_for(known, how, vf_field(state, VF_WINDOW)));
  }
  /* A lock's holder usually releases it in less time than a context switch
   * takes, so a thread that tries a lock spins on. */
  bool patient = how & VF_SPIN_TRYLOCK;
  bool crowded = known != 0 && vf_crowded();
  if ((!(crowded && !patient) && !has_spent_its_budget(state, begin)) ||
      how & VF_SPIN_AWAKE || vf_calls_are_foreign() ||
      vf_cpu_time_counts(begin))
    return answer(state, begin, 0, UINT64_C(1) << vf_field(state, VF_WINDOW));

  uint64_t most =
      left > UINT64_MAX >> 32 ? UINT32_MAX : left * known >> VF_COST_LOG2;
  if (most > VF_GIVEN_MAX_NS)
    most = VF_GIVEN_MAX_NS;
  if (!give_way(addr, observed, how, known ? most : 0, begin)) {
    if (left <= block_of(how) << vf_field(state, VF_WINDOW))
      vf_set(&in_vain_until, vf_hog_time(begin + VF_IN_VAIN_NS));
    return answer(state, begin, 0, UINT64_C(1) << vf_field(state, VF_WINDOW));
  }
  uint64_t end = vf_now_ns();
  uint64_t given = end - begin;
  if (given > VF_GIVEN_MAX_NS)
    given = VF_GIVEN_MAX_NS;
  bool works = how & VF_SPIN_MAY_WORK;
  uint64_t skip = works ? 0 : polls_in(given, known, end);
  crowded = known != 0 && vf_crowded();
  if (!crowded || patient)
    state = vf_with(state, VF_SPENT, 0);
  return answer(state, end, skip < left ? skip : left,
                crowded && !works ? 1
                                  : UINT64_C(1) << vf_field(state, VF_WINDOW));
}

#endif /* VFRIENDLY_SPIN_WAIT_BOUNDED_STEPS_H */

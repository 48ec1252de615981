/*===- spin-wait/bounded.c - Waits that give up after a count -------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The caller has so many polls left before it does something else: takes a
 * mutex, gives up. That number is a length of time, and stays one: time given
 * to other threads here is taken off as the polls that it would have been.
 *
 * What a poll takes is learnt from the polls that are made: the time from one
 * call's return to the next one's entry. Where each thread has a CPU, that is
 * all that happens. The loop polls in windows of some microseconds, and a yield
 * each spin budget looks whether that is still so. On evidence of
 * over-commitment (crowd.h) it yields after every poll; where yields take long,
 * it blocks if somebody notifies.
 *===----------------------------------------------------------------------===*/

#include "platform/linux/kernel.h"
#include "spin-wait/block.h"
#include "spin-wait/crowd.h"
#include "spin-wait/shared.h"
#include "spin-wait/state.h"
#include "spin-wait/tuning.h"
#include <stdbool.h>

/* Blocks of polls before the next call, less one: VF_SPIN_POLLS_MASK. */
static const struct vf_field VF_POLLS = {0, 16};
/* When the last call returned, in nanoseconds: wraps after 4.3 s, and a thread
 * that was off its CPU for as long as that measures one window wrongly. */
static const struct vf_field VF_RETURNED = {16, 32};
/* log2 of the blocks in a window. */
static const struct vf_field VF_WINDOW = {48, 4};
/* Spun since the last yield, in 1.02 us, saturating at 261 us. */
static const struct vf_field VF_SPENT = {52, 8};
#define VF_SPENT_UNIT_LOG2 10

/* A window lasts from this long to twice as long: call and clock, some 45 ns
 * here, are then 1 % of what is measured. */
#define VF_WINDOW_NS 4000u
/* Costs are in 1/1024 ns, so that a poll of a quarter of a nanosecond, one
 * cycle at 4 GHz, is known to 0.4 %. They saturate at 4.2 ms. */
#define VF_COST_LOG2 10
/* Sleeping and being woken again takes about half of this, most of it timer
 * slack (block.c): for less, yield. */
#define VF_SLEEP_MIN_NS 150000u

/* Costs go down at once and up slowly: what makes a window take longer is an
 * interrupt or a neighbour, nothing makes it shorter. */
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

/* What a window of so many blocks takes. */
static uint64_t window_ns(uint32_t cost, uint32_t how, uint64_t window) {
  return cost * block_of(how) << window >> VF_COST_LOG2;
}

/* The window that takes VF_WINDOW_NS; while that is not known, twice the last.
 * A single block is none: so a wait polls between yields. */
static uint64_t window_for(uint32_t cost, uint32_t how, uint64_t window) {
  if (cost == 0)
    return window < vf_max(VF_WINDOW) ? window + 1 : window;
  for (window = 1; window < vf_max(VF_WINDOW); ++window)
    if (window_ns(cost, how, window) >= VF_WINDOW_NS)
      break;
  return window;
}

/* How many polls the time is worth. What is left over counts as one poll as
 * often as it is that part of one, by the clock's last digits: on average
 * nothing is lost. */
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

/* Until now the loop spun. */
static uint64_t spun(uint64_t state, uint64_t now, uint32_t *cost,
                     uint32_t known, uint32_t how) {
  uint32_t took = (uint32_t)now - (uint32_t)vf_field(state, VF_RETURNED);
  uint64_t window = vf_field(state, VF_WINDOW);
  uint64_t expected = window_ns(known, how, window);
  vf_count(VF_SPIN_SPUN, 1);
  if (known != 0 && took > 2 * expected + VF_GAP_NS) {
    vf_crowd_seen();
    return state;
  }
  /* Far less than expected: a first window was measured in which the thread was
   * off its CPU. */
  if (took >= VF_WINDOW_NS || window == vf_max(VF_WINDOW) ||
      took < expected / 2)
    learn(cost, known, took, block_of(how) << window);
  uint64_t spent = vf_field(state, VF_SPENT) + (took >> VF_SPENT_UNIT_LOG2) + 1;
  return vf_with(state, VF_SPENT,
                 spent < vf_max(VF_SPENT) ? spent : vf_max(VF_SPENT));
}

static bool has_spent_its_budget(uint64_t state) {
  uint64_t spent = vf_field(state, VF_SPENT);
  return spent == vf_max(VF_SPENT) ||
         spent << VF_SPENT_UNIT_LOG2 >= vf_spin_budget_ns();
}

/* Lets others run once. */
static void give_way(const volatile void *addr, uint64_t observed, uint32_t how,
                     uint64_t most_ns, uint64_t begin) {
  if (vf_hogged(begin) && most_ns >= VF_SLEEP_MIN_NS &&
      vf_spin_block_for(addr, observed, how, most_ns))
    return;
  vf_yield();
  uint64_t end = vf_now_ns();
  vf_count(VF_SPIN_YIELDS, 1);
  if (end - begin <= VF_SLOW_YIELD_NS) {
    vf_crowd_not_seen();
    return;
  }
  vf_crowd_seen();
  if (end - begin > VF_HOG_NS)
    vf_hog_seen(end, end - begin);
}

VF_API struct vf_spin_bounded vf_spin_wait_bounded(const volatile void *addr,
                                                   uint64_t observed,
                                                   uint64_t state, uint32_t how,
                                                   uint64_t left,
                                                   uint32_t *cost) {
  uint64_t begin = vf_now_ns();
  uint32_t known = vf_get(cost);
  if (!(state & VF_LIVE)) {
    vf_count(VF_SPIN_WAITS, 1);
    state = vf_with(0, VF_WINDOW, window_for(known, how, 0));
  } else if (vf_field(state, VF_POLLS) != 0) {
    state = spun(state, begin, cost, known, how);
    known = vf_get(cost);
    state = vf_with(state, VF_WINDOW,
                    window_for(known, how, vf_field(state, VF_WINDOW)));
  }
  /* Locks are mostly held for less than a switch to another thread takes. */
  bool patient = how & VF_SPIN_TRYLOCK;
  bool crowded = known != 0 && vf_crowded();
  if (!(crowded && !patient) && !has_spent_its_budget(state))
    return answer(state, begin, 0, UINT64_C(1) << vf_field(state, VF_WINDOW));

  uint64_t most =
      left > UINT64_MAX >> 32 ? UINT32_MAX : left * known >> VF_COST_LOG2;
  give_way(addr, observed, how, known ? most : 0, begin);
  uint64_t end = vf_now_ns();
  uint64_t skip = polls_in(end - begin, known, end);
  crowded = known != 0 && vf_crowded();
  if (!crowded || patient)
    state = vf_with(state, VF_SPENT, 0);
  return answer(state, end, skip < left ? skip : left,
                crowded ? 1 : UINT64_C(1) << vf_field(state, VF_WINDOW));
}

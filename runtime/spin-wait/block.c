/*===- spin-wait/block.c - Sleeping until notified ------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Waiters sleep on the seq word of the bucket their address hashes to:
 *
 *   waiter                          writer
 *   W1 s = seq (acquire)            N1 *addr = new value
 *   W2 armed = 1, first one:        N2 vf_spin_armed == 0? done
 *      vf_spin_armed++              N3 fence
 *   W3 fence                        N4 armed == 0? done
 *   W4 *addr changed? done          N5 armed: 1 -> 0, vf_spin_armed--
 *   W5 sleep while seq == s         N6 seq++ (release)
 *                                   N7 wake all
 *
 * With a direct call of vf_spin_notify no wake-up is lost: by the fences either
 * W4 sees the new value or N4 sees armed, and then W5 sees N6 or sleeps before
 * N7. Should W2 find armed already set, its notify has N5 still to come, hence N6
 * after W1. Writers that test vf_spin_armed first (N2) run without a fence
 * between N1 and N2, for that is what makes them free; a waiter that arms in the
 * nanoseconds between sleeps until its timeout.
 *
 * Counting errs on the side of too many: vf_spin_armed goes up before armed is
 * set and down after it is cleared, so a thread that dies in between, or a fork,
 * leaves notifies a function call dearer, never a bucket that nobody visits.
 *
 * A notify wakes all. It cannot know whose condition its store fulfilled, and
 * waking only some would need the woken to pass it on, which they don't: they
 * leave their loop without telling us. Where that herd would hurt, in locks with
 * many waiters, waits mostly end while yielding (wait.c).
 *===----------------------------------------------------------------------===*/

#include "spin-wait/block.h"
#include "common/hash.h"
#include "platform/linux/kernel.h"
#include "spin-wait/blind.h"
#include "spin-wait/crowd.h"
#include "spin-wait/shared.h"
#include "spin-wait/state.h"
#include <stdbool.h>

/* A missed notify may cost this much at first: a third of a time slice. Later
 * an eighth of the time already waited, so that it never makes a wait much
 * longer than it was, up to 64 ms, where sixteen wake-ups a second are nothing. */
#define VF_TIMEOUT_MIN_NS 1000000u
#define VF_TIMEOUT_MAX_NS 64000000u
/* Where notifies do come, the first timeout is later than the next tick, of 100
 * Hz even. An earlier one is written to the timer of the (virtual) CPU at each
 * sleep, mostly an exit to the hypervisor: 16 threads passing a flag with two
 * computing beside them took 243 us a round with 1 ms, 145 us with 10 ms. */
#define VF_TIMEOUT_TRUSTED_NS 16000000u
#define VF_TIMEOUT_SHARE 8
/* A sleep that nothing ends early is at most a sixteenth of the time waited so
 * far, what it overshoots included: 50 us of timer slack, Linux' default, and
 * the way out of idle; 72 us measured here. */
#define VF_BLIND_SHARE 16
#define VF_BLIND_MIN_NS 50000u
#define VF_BLIND_MAX_NS 1000000u
#define VF_OVERSHOOT_NS 75000u
/* More missed notifies than this, and the bucket's waits are treated as if
 * nobody would notify. One or two happen by bad luck (N2 above). */
#define VF_SUSPECT_LIMIT 4u
/* So that as many good notifies bring it back. */
#define VF_SUSPECT_MAX 8u

static struct vf_spin_bucket *bucket_of(const volatile void *addr) {
  /* Eight bytes share a bucket: a store may be wider or narrower than the load
   * that polls, or touch only the byte that matters. */
  return &vf_spin_shared_1.buckets[vf_hash(addr, VF_SPIN_BUCKETS_LOG2)];
}

static void suspect_more(struct vf_spin_bucket *bucket) {
  uint32_t suspect = vf_get(&bucket->suspect);
  if (suspect < VF_SUSPECT_MAX)
    vf_set(&bucket->suspect, suspect + 1);
  vf_set(&bucket->trusted, 0);
}

static void suspect_less(struct vf_spin_bucket *bucket) {
  uint32_t suspect = vf_get(&bucket->suspect);
  if (suspect > 0)
    vf_set(&bucket->suspect, suspect - 1);
}

static uint64_t clamp(uint64_t value, uint64_t low, uint64_t high) {
  return value < low ? low : value > high ? high : value;
}

/* How long a wait that took so long may sleep unnoticed; 0 for not at all. */
static uint64_t blind_sleep_ns(uint64_t waited) {
  uint64_t share = waited / VF_BLIND_SHARE;
  if (share < VF_BLIND_MIN_NS + VF_OVERSHOOT_NS)
    return 0;
  return clamp(share - VF_OVERSHOOT_NS, VF_BLIND_MIN_NS, VF_BLIND_MAX_NS);
}

/* W2 and W3. */
static void arm(struct vf_spin_bucket *bucket) {
  if (vf_get(&bucket->armed) == 0) {
    __atomic_fetch_add(&vf_spin_armed, 1, __ATOMIC_RELAXED);
    if (__atomic_exchange_n(&bucket->armed, 1, __ATOMIC_RELAXED) != 0)
      __atomic_fetch_sub(&vf_spin_armed, 1, __ATOMIC_RELAXED);
  }
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static bool changed(const volatile void *addr, uint64_t observed,
                    uint32_t size) {
  switch (size) {
  case 1:
    return __atomic_load_n((const volatile uint8_t *)addr, __ATOMIC_RELAXED) !=
           (uint8_t)observed;
  case 2:
    return __atomic_load_n((const volatile uint16_t *)addr,
                           __ATOMIC_RELAXED) != (uint16_t)observed;
  case 4:
    return __atomic_load_n((const volatile uint32_t *)addr,
                           __ATOMIC_RELAXED) != (uint32_t)observed;
  case 8:
    return __atomic_load_n((const volatile uint64_t *)addr,
                           __ATOMIC_RELAXED) != observed;
  }
  return false;
}

/* Yields, and returns true if another thread ran here and gave the CPU back: it
 * waits as well, and a sleep that nothing ends early would free the CPU for
 * nobody and end up to VF_BLIND_MAX_NS late. False after a yield for which
 * nobody was there, and after one to a thread that computes: sleep then. */
static bool yield_to_waiters(void) {
  uint64_t begin = vf_now_ns();
  if (vf_hogged(begin))
    return false;
  vf_yield();
  uint64_t end = vf_now_ns(), took = end - begin;
  vf_count(VF_SPIN_YIELDS, 1);
  if (took <= VF_SLOW_YIELD_NS) {
    vf_crowd_not_seen();
    return false;
  }
  vf_crowd_seen();
  if (took <= VF_HOG_NS)
    return true;
  vf_hog_seen(end, took);
  return false;
}

static uint64_t sleep_blind(uint64_t state, uint32_t how, uintptr_t place) {
  uint64_t ns = how & VF_SPIN_NO_SLEEP
                    ? 0
                    : blind_sleep_ns(vf_waited(state, vf_now_ns()));
  if (ns == 0) {
    vf_count(VF_SPIN_YIELDS, 1);
    vf_yield();
    return state;
  }
  if (yield_to_waiters())
    return state;
  vf_count(VF_SPIN_BLIND_SLEEPS, 1);
  vf_blind_slept(place, VF_BLIND_NO_WRITER, ns);
  vf_sleep_ns(ns);
  return state;
}

/* The condition may have moved on: let the caller look, and if it is still not
 * his turn, yield while others run here before sleeping again. The budget stays
 * used up, so the first yield that lets nobody run leads back here. */
static uint64_t woken(uint64_t state) {
  uint64_t now = vf_now_ns();
  return vf_hogged(now)
             ? state
             : vf_started_at(vf_with(state, VF_PHASE, VF_YIELDING), now);
}

uint64_t vf_spin_block(const volatile void *addr, uint64_t observed,
                       uint64_t state, uint32_t how, uintptr_t place) {
  if (!(how & VF_SPIN_NOTIFIED))
    return sleep_blind(state, how, place);

  struct vf_spin_bucket *bucket = bucket_of(addr);
  if (vf_field(state, VF_TIMED_OUT)) {
    suspect_less(bucket);
    state = vf_with(state, VF_TIMED_OUT, 0);
  }
  uint64_t waited = vf_waited(state, vf_now_ns());
  uint64_t ns = clamp(waited / VF_TIMEOUT_SHARE,
                      vf_get(&bucket->trusted) ? VF_TIMEOUT_TRUSTED_NS
                                               : VF_TIMEOUT_MIN_NS,
                      VF_TIMEOUT_MAX_NS);
  bool blind = vf_get(&bucket->suspect) > VF_SUSPECT_LIMIT;
  if (blind) {
    /* Still armed, so that a notify, should there be any, restores trust. */
    ns = blind_sleep_ns(waited);
    if (ns == 0 || how & VF_SPIN_NO_SLEEP)
      return sleep_blind(state, VF_SPIN_NO_SLEEP, place);
    if (yield_to_waiters())
      return state;
  }

  uint32_t seq = __atomic_load_n(&bucket->seq, __ATOMIC_ACQUIRE);
  uint32_t size = how & VF_SPIN_SIZE_MASK;
  if (size == 0 && !(vf_field(state, VF_SNAPPED) &&
                     vf_field(state, VF_SNAPSHOT) ==
                         (seq & vf_max(VF_SNAPSHOT)))) {
    /* Only the caller can look again (W4), and sleeps on its next call. */
    arm(bucket);
    return vf_with(vf_with(state, VF_SNAPPED, 1), VF_SNAPSHOT, seq);
  }
  if (size != 0) {
    arm(bucket);
    if (changed(addr, observed, size))
      return state;
  }

  vf_count(VF_SPIN_BLOCKS, 1);
  if (blind)
    vf_blind_slept(place, VF_BLIND_MISSED, ns);
  state = vf_with(state, VF_SNAPPED, 0);
  switch (vf_futex_wait(&bucket->seq, seq, ns)) {
  case ETIMEDOUT:
    vf_count(VF_SPIN_TIMEOUTS, 1);
    suspect_more(bucket);
    return vf_with(state, VF_TIMED_OUT, 1);
  case EINTR:
    return state;
  default:
    return woken(state);
  }
}

bool vf_spin_block_for(const volatile void *addr, uint64_t observed,
                       uint32_t how, uint64_t ns) {
  uint32_t size = how & VF_SPIN_SIZE_MASK;
  if (!(how & VF_SPIN_NOTIFIED) || size == 0)
    return false;
  struct vf_spin_bucket *bucket = bucket_of(addr);
  if (vf_get(&bucket->suspect) > VF_SUSPECT_LIMIT)
    return false;
  uint64_t most = vf_get(&bucket->trusted) ? VF_TIMEOUT_TRUSTED_NS
                                           : VF_TIMEOUT_MIN_NS;
  uint32_t seq = __atomic_load_n(&bucket->seq, __ATOMIC_ACQUIRE);
  arm(bucket);
  if (changed(addr, observed, size))
    return true;
  vf_count(VF_SPIN_BLOCKS, 1);
  if (vf_futex_wait(&bucket->seq, seq, ns < most ? ns : most) == ETIMEDOUT) {
    vf_count(VF_SPIN_TIMEOUTS, 1);
    /* That it was the end of the wait says nothing about notifies. */
    if (ns >= most)
      suspect_more(bucket);
  }
  return true;
}

VF_API void vf_spin_notify(const volatile void *addr) {
  if (vf_get(&vf_spin_shared_1.notify_off))
    return;
  struct vf_spin_bucket *bucket = bucket_of(addr);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (vf_get(&bucket->armed) == 0 ||
      __atomic_exchange_n(&bucket->armed, 0, __ATOMIC_RELAXED) == 0)
    return;
  __atomic_fetch_sub(&vf_spin_armed, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&bucket->seq, 1, __ATOMIC_RELEASE);
  uint32_t n = vf_futex_wake_all(&bucket->seq);
  vf_count(VF_SPIN_NOTIFIES, 1);
  vf_count(VF_SPIN_WAKES, n);
  if (n > 0) {
    suspect_less(bucket);
    if (vf_get(&bucket->trusted) == 0)
      vf_set(&bucket->trusted, 1);
  }
}

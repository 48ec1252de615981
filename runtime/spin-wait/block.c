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
 * A direct call of vf_spin_notify loses no wake-up. By the two fences, either
 * W4 sees the new value, or N4 sees armed; in the second case W5 either sees N6
 * or sleeps before N7. If W2 finds armed already set, the notify that will
 * clear it has not reached N5, so its N6 comes after W1. A writer that tests
 * vf_spin_armed first (N2) has no fence between N1 and N2, so that it costs
 * only a load and a branch. A waiter that arms in the nanoseconds between N1
 * and N2 therefore sleeps until its timeout.
 *
 * vf_spin_armed may be too large, but never too small: it is incremented before
 * armed is set and decremented after armed is cleared. If a thread dies between
 * these steps, or the process forks, each later notify costs an additional
 * function call, but no bucket with a waiter is skipped.
 *
 * A notify wakes all waiters of the bucket, because it does not know which
 * waiter's condition the store fulfilled. If it woke only one, that thread
 * would have to wake the next, but rewritten code leaves its loop without a
 * call of the runtime. Waking all is expensive for locks with many waiters, but
 * most waits for those end while they yield (wait.c).
 *===----------------------------------------------------------------------===*/

#include "spin-wait/block.h"
#include "common/hash.h"
#include "platform/linux/kernel.h"
#include "relax.h"
#include "spin-wait/blind.h"
#include "spin-wait/crowd.h"
#include "spin-wait/limit.h"
#include "spin-wait/shared.h"
#include "spin-wait/state.h"
#include <stdbool.h>

/* First timeout, a third of a time slice: a missed notify costs this much.
 * Later timeouts are an eighth of the time already waited, so that a missed
 * notify prolongs the wait by an eighth, and at most 64 ms, because sixteen
 * wake-ups a second are negligible. */
#define VF_TIMEOUT_MIN_NS 1000000u
#define VF_TIMEOUT_MAX_NS 64000000u
/* First timeout in a bucket where notifies arrive. It is later than the
 * kernel's next timer tick, even at 100 Hz: for an earlier timeout the kernel
 * programs the (virtual) CPU's timer at each sleep, which usually exits to the
 * hypervisor. 16 threads that pass a flag around, beside two threads that
 * compute, took 243 us for each pass with a first timeout of 1 ms and 145 us
 * with one of 10 ms. */
#define VF_TIMEOUT_TRUSTED_NS 16000000u
#define VF_TIMEOUT_SHARE 8
/* Trust in a bucket at which timeouts are twice as long as its waits usually
 * are: then most waits do not time out at all. The first notify that ends a
 * sleep of the bucket, none missed since, makes it 1, and each later one
 * doubles it and the timeouts with it. (A timeout takes some 15 us of CPU
 * time.) A notify that is missed after all delays its waiter by at most twice
 * the usual time; the bucket is then trusted no more. */
#define VF_TRUSTED_LONG 8u
/* Trust from which a wait does not ask for timers of CPU time before it sleeps
 * (wait.c): two notifies. */
#define VF_TRUSTED_SURELY 2u
/* The maximum of such timeouts. */
#define VF_TIMEOUT_LONG_NS 1000000000u
/* Time between arming a bucket and the last poll before a long sleep. A writer
 * that did not see armed (N2 above) had already executed its store, so the
 * store is visible after this time, ten times as long as a processor takes to
 * write its store buffer to its cache. */
#define VF_SETTLE_NS 2000u
/* Maximum share of the time waited so far that a blind sleep, which no notify
 * ends, may take: a sixteenth, overshoot included. The overshoot is 50 us of
 * timer slack, Linux' default, and the exit from idle; 72 us on the development
 * machine. */
#define VF_BLIND_SHARE 16
/* The share where CPU time counts (limit.h): half, after 250 us of yielding
 * instead of 2 ms. */
#define VF_BLIND_SHARE_THRIFTY 2
#define VF_BLIND_MIN_NS 50000u
#define VF_BLIND_MAX_NS 1000000u
#define VF_OVERSHOOT_NS 75000u
/* Number of missed notifies after which waits in the bucket sleep no longer
 * than blind ones. One or two can be missed by chance (N2 above). */
#define VF_SUSPECT_LIMIT 4u
/* Upper limit of the count of missed notifies, so that a few notifies that
 * arrive restore trust. */
#define VF_SUSPECT_MAX 8u
/* Timeouts of a wait that a thread may end without a notify (VF_SPIN_UNSEEN).
 * They depend on nothing but the time waited: a change is noticed 2 ms late, or
 * a twentieth of the wait, whichever is more, whatever notifies have ended
 * before. Both numbers leave an eighth of that for the timer's slack and for
 * the way back to a CPU, which took 0.1 ms on the development machine. */
#define VF_UNSEEN_MIN_NS 1750000u
#define VF_UNSEEN_SHARE 23
/* What a change without a notify adds to `suspect` if the runtime has read it.
 * One suffices for a lock, whose waiters delay each other. */
#define VF_SUSPECT_SURE (VF_SUSPECT_LIMIT + 1)
/* Number of yields of waits that may not sleep, in a bucket that is not relied
 * upon, of which one forgets a missed notify: the sleep that follows may take
 * VF_UNSEEN_MIN_NS for nothing, 3 % of the time that so many yields take. */
#define VF_FORGET_EACH (UINT32_C(1) << 17)
/* Time for which a wait that may not sleep does not yield again, after a yield
 * to threads of other programs: this many times as long as the yield took. With
 * one as long as the other it would poll for a third of the time, beside one
 * such thread; one that never yields polls for half of it. */
#define VF_KEEP_FACTOR 4u
/* A yield ran only threads of other programs if this process used less than
 * this part of its time. */
#define VF_OURS_PART 4u
/* Number of pauses of a poll in that time: half a microsecond. */
#define VF_KEEP_PAUSES 16u
/* log2 of the unit of `usual`, 1 ms: shorter waits do not time out. */
#define VF_USUAL_LOG2 20

struct vf_spin_bucket *vf_spin_bucket_of(const volatile void *addr) {
  /* All bytes of an aligned 8-byte word share a bucket: the store may be wider
   * or narrower than the polling load, and begin at another byte. */
  return &vf_spin_shared_1.buckets[vf_hash(addr, VF_SPIN_BUCKETS_LOG2)];
}

bool vf_spin_is_trusted(const struct vf_spin_bucket *bucket) {
  return vf_get(&bucket->trusted) >= VF_TRUSTED_SURELY;
}

static void suspect_more(struct vf_spin_bucket *bucket) {
  uint32_t suspect = vf_get(&bucket->suspect);
  if (suspect < VF_SUSPECT_MAX)
    vf_set(&bucket->suspect, suspect + 1);
}

/* Records a change that the runtime has read and no thread has notified. */
static void suspect_surely(struct vf_spin_bucket *bucket) {
  uint32_t suspect = vf_get(&bucket->suspect);
  if (suspect < VF_SUSPECT_SURE)
    vf_set(&bucket->suspect, VF_SUSPECT_SURE);
  else
    suspect_more(bucket);
}

static void suspect_less(struct vf_spin_bucket *bucket) {
  uint32_t suspect = vf_get(&bucket->suspect);
  if (suspect > 0)
    vf_set(&bucket->suspect, suspect - 1);
}

static void forget_at_times(struct vf_spin_bucket *bucket) {
  if ((vf_now_ns() * UINT64_C(0x9e3779b97f4a7c15) >> 32) % VF_FORGET_EACH == 0)
    suspect_less(bucket);
}

static void trust_more(struct vf_spin_bucket *bucket) {
  uint32_t trusted = vf_get(&bucket->trusted);
  if (vf_get(&bucket->doubted) != 0) {
    vf_set(&bucket->doubted, 0);
    vf_set(&bucket->trusted, 1);
    return;
  }
  if (trusted < VF_TRUSTED_LONG)
    vf_set(&bucket->trusted, trusted ? 2 * trusted : 1);
}

/* Called before a sleep, with whether the wait's last sleep has timed out. A
 * wait that timed out and does not sleep again has missed a notify, which shows
 * when another wait sleeps or is notified. */
static void settle_doubts(struct vf_spin_bucket *bucket, bool has_timed_out) {
  if (has_timed_out)
    suspect_less(bucket);
  if (vf_get(&bucket->doubted) == 0)
    return;
  vf_set(&bucket->doubted, 0);
  if (!has_timed_out)
    vf_set(&bucket->trusted, 0);
}

/* Records the length of a wait that a notify ended: at once if it is longer
 * than usual, else by a quarter of the difference. */
static void record_usual(struct vf_spin_bucket *bucket, uint64_t waited) {
  uint32_t units = (uint32_t)(waited >> VF_USUAL_LOG2),
           usual = vf_get(&bucket->usual);
  uint32_t now = units > usual ? units : usual - (usual - units + 3) / 4;
  if (now != usual)
    vf_set(&bucket->usual, now);
}

static uint64_t clamp(uint64_t value, uint64_t low, uint64_t high) {
  return value < low ? low : value > high ? high : value;
}

/* Returns the timeout of a sleep after `waited` nanoseconds of waiting. */
static uint64_t timeout_ns(const struct vf_spin_bucket *bucket, uint64_t waited,
                           uint32_t how) {
  if (how & VF_SPIN_UNSEEN)
    return clamp(waited / VF_UNSEEN_SHARE, VF_UNSEEN_MIN_NS, VF_TIMEOUT_MAX_NS);
  uint32_t trusted = vf_get(&bucket->trusted);
  uint64_t least = trusted ? VF_TIMEOUT_TRUSTED_NS : VF_TIMEOUT_MIN_NS;
  uint64_t ns = clamp(waited / VF_TIMEOUT_SHARE, least, VF_TIMEOUT_MAX_NS);
  uint64_t usual = (uint64_t)vf_get(&bucket->usual) << VF_USUAL_LOG2;
  uint64_t proved = 2 * usual * trusted / VF_TRUSTED_LONG;
  return clamp(proved, ns, VF_TIMEOUT_LONG_NS);
}

/* Lets stores of writers that have not seen the armed bucket become visible,
 * before a sleep that may take long. */
static void settle_stores(uint64_t ns) {
  if (ns <= VF_TIMEOUT_TRUSTED_NS)
    return;
  for (uint64_t end = vf_now_ns() + VF_SETTLE_NS; vf_now_ns() < end;)
    vf_relax();
}

/* Returns the maximum length of a blind sleep after `waited` nanoseconds of
 * waiting; 0 if the wait may not sleep yet. */
static uint64_t blind_sleep_ns(uint64_t waited) {
  uint64_t share = waited / (vf_limit_counts(waited) ? VF_BLIND_SHARE_THRIFTY
                                                     : VF_BLIND_SHARE);
  if (share < VF_BLIND_MIN_NS + VF_OVERSHOOT_NS)
    return 0;
  return clamp(share - VF_OVERSHOOT_NS, VF_BLIND_MIN_NS, VF_BLIND_MAX_NS);
}

/* Arms the bucket: steps W2 and W3 of the protocol above. */
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
    return __atomic_load_n((const volatile uint16_t *)addr, __ATOMIC_RELAXED) !=
           (uint16_t)observed;
  case 4:
    return __atomic_load_n((const volatile uint32_t *)addr, __ATOMIC_RELAXED) !=
           (uint32_t)observed;
  case 8:
    return __atomic_load_n((const volatile uint64_t *)addr, __ATOMIC_RELAXED) !=
           observed;
  }
  return false;
}

/* Yields the CPU. Returns true if another thread ran here and soon yielded
 * back: that thread waits, too, so a timed sleep would only end late. Returns
 * false if no other thread ran, or if one that computes ran; the caller then
 * sleeps. */
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

/* Gives way to other threads, for a wait that may not sleep. A yield to a
 * thread that computes takes a time slice. If that is one of this process, the
 * wait may be for it; if another such wait polls meanwhile, each of them would
 * take a slice from the other. Otherwise this thread only loses time in which
 * it could poll, so it keeps the CPU for a while: beside two such threads, a
 * worker found that a queue was filled after 8 ms, and after 3 ms if it did not
 * yield. VF_BURNT is 0 if the last yield was short. */
static uint64_t give_way(uint64_t state) {
  struct vf_spin_shared *shared = &vf_spin_shared_1;
  uint32_t self = vf_self();
  bool alone = vf_get(&shared->poller) == self;
  uint64_t used = 0, begin = vf_now_ns();
  if (alone && vf_is_before(&shared->kept_until, begin)) {
    vf_count(VF_SPIN_SPUN, 1);
    for (unsigned i = 0; i != VF_KEEP_PAUSES; ++i)
      vf_relax();
    return vf_with(state, VF_BURNT, 1);
  }
  if (!alone)
    vf_set(&shared->poller, self);
  bool measures = (vf_field(state, VF_BURNT) != 0 || vf_hog_remembered()) &&
                  !vf_limit_is_near();
  if (measures)
    used = vf_process_ns();
  vf_yield();
  uint64_t end = vf_now_ns(), took = end - begin;
  vf_count(VF_SPIN_YIELDS, 1);
  if (took <= VF_HOG_NS)
    return vf_with(state, VF_BURNT, 0);
  vf_hog_seen(end, took);
  if (measures && vf_get(&shared->poller) == self &&
      vf_process_ns() - used < took / VF_OURS_PART)
    vf_set(&shared->kept_until, vf_hog_time(end + VF_KEEP_FACTOR * took));
  return vf_with(state, VF_BURNT, 1);
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

/* After a notify, returns to the yielding phase: the caller polls, and yields
 * to other threads before it sleeps again. The spin budget stays used up, so
 * the first yield after which no other thread ran leads back to sleeping. */
static uint64_t woken(uint64_t state) {
  uint64_t now = vf_now_ns();
  return vf_hogged(now)
             ? state
             : vf_started_at(vf_with(state, VF_PHASE, VF_YIELDING), now);
}

uint64_t vf_spin_block(const volatile void *addr, uint64_t observed,
                       uint64_t state, uint32_t how, uintptr_t place) {
  if (!(how & VF_SPIN_NOTIFIED))
    return how & VF_SPIN_NO_SLEEP && !addr ? give_way(state)
                                           : sleep_blind(state, how, place);

  struct vf_spin_bucket *bucket = vf_spin_bucket_of(addr);
  uint32_t size = how & VF_SPIN_SIZE_MASK;
  /* Whether the runtime sees for itself if a sleep has missed a notify. */
  bool looks = how & VF_SPIN_UNSEEN && size != 0;
  settle_doubts(bucket, vf_field(state, VF_TIMED_OUT) && !looks);
  state = vf_with(state, VF_TIMED_OUT, 0);
  uint64_t waited = vf_waited(state, vf_now_ns());
  uint64_t ns = timeout_ns(bucket, waited, how);
  bool blind = vf_get(&bucket->suspect) > VF_SUSPECT_LIMIT;
  if (blind) {
    /* Sleeps no longer than a blind sleep, but arms the bucket below, so that
     * notifies can restore trust. */
    ns = blind_sleep_ns(waited);
    if (how & VF_SPIN_NO_SLEEP)
      forget_at_times(bucket);
    if (ns == 0 || how & VF_SPIN_NO_SLEEP)
      return sleep_blind(state, VF_SPIN_NO_SLEEP, place);
    if (yield_to_waiters())
      return state;
  }

  uint32_t seq = __atomic_load_n(&bucket->seq, __ATOMIC_ACQUIRE);
  if (size == 0 &&
      !(vf_field(state, VF_SNAPPED) &&
        vf_field(state, VF_SNAPSHOT) == (seq & vf_max(VF_SNAPSHOT)))) {
    /* Without an address only the caller can poll again (step W4 above), so
     * this call arms the bucket and the next one sleeps. */
    arm(bucket);
    settle_stores(ns);
    return vf_with(vf_with(state, VF_SNAPPED, 1), VF_SNAPSHOT, seq);
  }
  if (size != 0) {
    arm(bucket);
    settle_stores(ns);
    if (changed(addr, observed, size))
      return state;
  }

  vf_count(VF_SPIN_BLOCKS, 1);
  if (blind)
    vf_blind_slept(place, VF_BLIND_MISSED, ns);
  state = vf_with(state, VF_SNAPPED, 0);
  uint64_t cpu = vf_limit_measures(seq);
  int result = vf_futex_wait(&bucket->seq, seq, ns);
  if (cpu && result == 0)
    vf_limit_measured(&vf_limit_1.sleep_ns, cpu, 1);
  switch (result) {
  case ETIMEDOUT:
    vf_count(VF_SPIN_TIMEOUTS, 1);
    if (looks) {
      if (changed(addr, observed, size))
        suspect_surely(bucket);
      return vf_with(state, VF_TIMED_OUT, 1);
    }
    suspect_more(bucket);
    vf_set(&bucket->doubted, 1);
    return vf_with(state, VF_TIMED_OUT, 1);
  case EINTR:
    return state;
  default:
    record_usual(bucket, vf_waited(state, vf_now_ns()));
    return woken(state);
  }
}

bool vf_spin_block_for(const volatile void *addr, uint64_t observed,
                       uint32_t how, uint64_t ns) {
  uint32_t size = how & VF_SPIN_SIZE_MASK;
  if (!(how & VF_SPIN_NOTIFIED) || size == 0)
    return false;
  struct vf_spin_bucket *bucket = vf_spin_bucket_of(addr);
  if (vf_get(&bucket->suspect) > VF_SUSPECT_LIMIT)
    return false;
  uint64_t most = vf_get(&bucket->trusted) && !(how & VF_SPIN_UNSEEN)
                      ? VF_TIMEOUT_TRUSTED_NS
                      : VF_TIMEOUT_MIN_NS;
  uint32_t seq = __atomic_load_n(&bucket->seq, __ATOMIC_ACQUIRE);
  arm(bucket);
  if (changed(addr, observed, size))
    return true;
  vf_count(VF_SPIN_BLOCKS, 1);
  if (vf_futex_wait(&bucket->seq, seq, ns < most ? ns : most) == ETIMEDOUT) {
    vf_count(VF_SPIN_TIMEOUTS, 1);
    /* A timeout that ends a bounded wait does not show that a notify was
     * missed. */
    if (ns >= most) {
      suspect_more(bucket);
      vf_set(&bucket->trusted, 0);
    }
  }
  return true;
}

VF_API void vf_spin_notify(const volatile void *addr) {
  if (vf_get(&vf_spin_shared_1.notify_off))
    return;
  struct vf_spin_bucket *bucket = vf_spin_bucket_of(addr);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (vf_get(&bucket->armed) == 0 ||
      __atomic_exchange_n(&bucket->armed, 0, __ATOMIC_RELAXED) == 0)
    return;
  __atomic_fetch_sub(&vf_spin_armed, 1, __ATOMIC_RELAXED);
  uint32_t seq = __atomic_fetch_add(&bucket->seq, 1, __ATOMIC_RELEASE);
  uint64_t cpu = vf_limit_measures(seq);
  uint32_t n = vf_futex_wake_all(&bucket->seq);
  if (cpu && n > 0)
    vf_limit_measured(&vf_limit_1.wake_ns, cpu, n);
  vf_count(VF_SPIN_NOTIFIES, 1);
  vf_count(VF_SPIN_WAKES, n);
  if (n > 0) {
    suspect_less(bucket);
    trust_more(bucket);
  }
}

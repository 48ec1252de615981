/*===- blocking-sync/mutex.c - Mutexes with one spinning waiter -----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * mutex_word.h has the bits of the word.
 *
 * Any thread may take a free lock, so a running thread can release and retake
 * it without a switch. This bounds how often parked threads are bypassed: after
 * MAX_SKIPS unlocks, one unlock examines the first of them, and if that one has
 * waited for VF_HAND_OVER_NS, it is handed the lock. There is one hand-over in
 * that time, as each leaves the lock idle for the duration of a wake-up:
 * handing over at every unlock is the convoy that barging avoids.
 *
 * A spinner that does not run, because its vCPU is preempted or a signal
 * handler blocks, keeps parked threads from a free lock until MAX_SKIPS more
 * unlocks. But no thread waits longer than 10 ms or the time it had already
 * waited, whichever is more: then it looks itself (vf_look). A waiter that was
 * moved here from a condition does not look: it sleeps like one that may have
 * to wait for ever.
 *===----------------------------------------------------------------------===*/

#define VF_NO_INLINE /* External definitions of the inline functions in        \
                        mutex.h. */
#include "blocking-sync/mutex.h"
#include "blocking-sync/adaptive_spin.h"
#include "blocking-sync/holder.h"
#include "blocking-sync/mutex_word.h"
#include "blocking-sync/waiting.h"
#include "common/environment.h"
#include "common/plain_lock.h"
#include "spin-wait/limit.h"

/* Maximum number of consecutive unlocks that do not examine the queue while a
 * thread spins for the lock. Examining the queue takes as long as 20
 * acquisitions of an uncontended lock. The field SKIPS counts to 255 at most.
 * No waiter is forgotten: a spinner gives up within VF_NAPS_NS, and then each
 * unlock examines the queue until another thread spins. */
#define MAX_SKIPS 250u
/* Number of consecutive unlocks without a waiter after which acquisitions are
 * no longer recorded: recording them all, with `gleaner hints`, took a sixth of
 * the throughput of empty sections, as the thread that has the lock while
 * others nap is mostly alone. With more, a nap goes by before it ends; with
 * fewer, the next waiter does not know the holder. */
#define UNWANTED 32u
/* Time for which running threads may take the lock ahead of a waiter that was
 * queued earlier; after this time the lock is handed to that waiter. A longer
 * time is less fair; a shorter time leaves the lock idle during more wake-ups.
 * The value is the shortest one whose throughput is within 2 % of the highest
 * (guidelines/blocking-sync.md has the figures). */
#ifndef VF_HAND_OVER_NS /* ./dev bench blocking-sync --bounds */
#define VF_HAND_OVER_NS 1000000u
#endif
#define VF_HANDED_UNIT_LOG2 10

/* Number of pairs of reads that must each show that the lock changed hands
 * before the spinner treats the lock as busy. A single pair may show this by
 * chance. */
#define VF_PASSED_LOOKS 2u
/* Time for which a thread polls the lock word before it parks, if it is not the
 * spinner. The spinner may be a thread that was woken and has no CPU yet. This
 * time covers several critical sections of a microsecond, and is less than half
 * of the CPU time that parking and waking cost (VF_SLEEP_COSTS_NS). */
#define VF_BRIEF_NS 5000u
/* Length of a spinner's first sleep on a busy lock; with Linux' default timer
 * slack of 50 us it takes about 110 us. Each later sleep is as long as the wait
 * so far. If the lock becomes free during a sleep, it stays free for no longer
 * than the spinner has waited before. After VF_NAPS_NS, which is four sleeps,
 * the spinner parks. Shorter sleeps gain nothing: with 8 and 16 threads on 2
 * CPUs, sleeps of 5, 10 and 20 us and a timer slack of 1 us have 1.00, 0.96 and
 * 0.99 of the throughput, for 1.19, 1.20 and 1.05 of the CPU time. */
#define VF_NAP_NS 50000u
#define VF_NAPS_NS 1000000u

struct locking {
  vf_mutex *mutex;
  bool spinning; /* true if this thread has set SPINNING */
  bool may_nap;  /* true if there is no deadline, which a nap could miss */
  bool holder_was_preempted; /* true if a spin ended for that reason */
  struct vf_visit visit;
};

/* Callback of type vf_validate: lets the thread park only if the lock is still
 * held, because the holder's unlock then finds the waiter. */
static bool still_held(void *what, struct vf_waiter *self) {
  struct locking *locking = what;
  uint32_t word = load(locking->mutex);
  (void)self;
  do {
    if (!(word & HELD))
      return false;
  } while (!change(locking->mutex, &word,
                   (locking->spinning ? without_spinner(word) : word) | PARKED,
                   __ATOMIC_RELAXED));
  locking->spinning = false;
  return true;
}

/* Callback of type vf_look, called for a parked thread. Returns true if the
 * lock is free and another thread spins for it: only in this state may an
 * unlock have left the parked thread asleep. In every other state an unlock
 * must have woken it, and returning true would hide a lost wake-up. */
static bool is_left_free(void *what) {
  const struct locking *locking = what;
  uint32_t word = load(locking->mutex);
  return !(word & HELD) && has_spinner(word);
}

static bool take(struct locking *locking, uint32_t *word) {
  uint32_t taken = (locking->spinning ? without_spinner(*word) : *word) | HELD;
  /* The field counts other unlocks from here on (UNWANTED). */
  if (locking->spinning && !(taken & PARKED))
    taken &= ~SKIPS;
  return change(locking->mutex, word, taken, __ATOMIC_ACQUIRE);
}

/* Clears SPINNING if no waiter is parked: no unlock needs the bit then, and
 * unlocking is faster without it. Returns false if the word has changed
 * meanwhile. */
static bool unmark(struct locking *locking, uint32_t word) {
  if (locking->spinning &&
      !change(locking->mutex, &word, without_spinner(word) & ~SKIPS,
              __ATOMIC_RELAXED))
    return false;
  locking->spinning = false;
  return true;
}

/* Spins until the caller has the lock, its budget is used up or the holder's
 * vCPU is preempted. If the lock changes hands between two reads, it is in
 * constant use: spinning longer gains nothing then, and waking a sleeper costs
 * the lock's users a system call. So the thread sleeps for short times until
 * the lock is handed to it. */
static bool spin(struct locking *locking, uint64_t budget) {
  vf_mutex *mutex = locking->mutex;
  uint64_t begin = vf_now_ns(), now = begin;
  unsigned pauses = VF_FIRST_PAUSES, passed = 0;
  uint32_t before = load(mutex);
  vf_limit_look(begin);
  budget = vf_limit_budget(budget, begin);
  for (;;) {
    uint32_t word = load(mutex);
    if (!(word & HELD) && take(locking, &word))
      return true;
    passed += has_spinner(word) && (word & SKIPS) != (before & SKIPS);
    before = word;
    if (passed >= VF_PASSED_LOOKS && locking->may_nap) {
      if (now - begin >= VF_NAPS_NS)
        return false;
      if (!(word & PARKED) && !unmark(locking, word))
        continue;
      vf_visit_slept(&locking->visit);
      uint64_t waited = now - begin;
      vf_sleep_ns(waited > VF_NAP_NS ? waited : VF_NAP_NS);
      now = vf_now_ns();
      continue;
    }
    if (now - begin >= budget)
      return false;
    if ((word & RECORDED) && vf_holder_is_preempted(mutex)) {
      locking->holder_was_preempted = true;
      return false;
    }
    if (!vf_pause(&pauses, &now))
      return false;
  }
}

/* Does the first wait of a thread that found the lock held: it spins; if
 * another thread spins already, it only reads the word a few times. */
static bool spin_first(struct locking *locking) {
  vf_mutex *mutex = locking->mutex;
  uint32_t word = load(mutex);
  if (has_spinner(word) ||
      !change(mutex, &word, with_spinner(word), __ATOMIC_RELAXED))
    return spin(locking, VF_BRIEF_NS);
  locking->spinning = true;
  uint16_t failed = __atomic_load_n(&mutex->failed_spins_, __ATOMIC_RELAXED);
  bool got_it = spin(locking, vf_spin_budget_ns() >> failed);
  /* One that the hint ended says nothing of how long sections are. */
  if (!locking->holder_was_preempted)
    vf_learn(&mutex->failed_spins_, got_it);
  return got_it;
}

/* Waits for the lock as the spinner or as a parked waiter, and acquires it.
 * deadline may be null. */
static int lock_as(struct locking *locking, struct vf_waiter *self,
                   const struct vf_deadline *deadline) {
  if (locking->spinning ? spin(locking, vf_spin_budget_ns())
                        : spin_first(locking))
    return 0;
  for (;;) {
    enum vf_wake how = vf_park(self, locking->mutex, still_held, NULL,
                               is_left_free, locking, deadline);
    if (how != VF_WAKE_INVALID)
      vf_visit_slept(&locking->visit);
    switch (how) {
    case VF_WAKE_HANDED:
      return 0;
    case VF_WAKE_TIMEOUT:
      return ETIMEDOUT;
    case VF_WAKE_RETRY:
      locking->spinning = true;
      break;
    default: /* The lock became free. */
      break;
    }
    if (spin(locking, locking->spinning ? vf_spin_budget_ns() : VF_BRIEF_NS))
      return 0;
  }
}

/* Records an acquisition that had to wait, and those to come. pre: the caller
 * holds the lock. */
static void record_all(vf_mutex *mutex, uintptr_t site) {
  if (!vf_holders_are_recorded())
    return;
  /* In this order: with the bit, waiters believe what is recorded. */
  vf_holder_took(mutex, site);
  if (!(load(mutex) & RECORDED))
    __atomic_fetch_or(&mutex->word_, RECORDED, __ATOMIC_RELAXED);
}

/* Acquires the lock for a thread that has just arrived or, if spinning is true,
 * was woken to be the spinner. */
static int lock_slowly(vf_mutex *mutex, struct vf_waiter *self, bool spinning,
                       const struct vf_deadline *deadline, uintptr_t site) {
  struct locking locking = {mutex, spinning, deadline == NULL, false,
                            vf_visit_begin(site)};
  int result = lock_as(&locking, self, deadline);
  vf_visit_end(&locking.visit);
  if (result == 0)
    record_all(mutex, site);
  return result;
}

/* Locks a mutex that several processes share. The kernel queues its waiters. */
static int lock_shared(vf_mutex *mutex, const struct vf_deadline *deadline) {
  uint64_t state = 0;
  do
    if (load(mutex) == VF_FREE && vf_plain_try(&mutex->word_))
      return 0;
  while (vf_keep_spinning(&state, deadline));
  return vf_plain_sleep(&mutex->word_, deadline, VF_ACROSS);
}

VF_API int vf_mutex_init(vf_mutex *mutex, unsigned flags) {
  if (!vf_flags_are_good(flags))
    return EINVAL;
  bool counted = vf_sites_are_on() && flags == 0;
  *mutex =
      (vf_mutex){.word_ = counted ? RECORDED : 0, .flags_ = (uint16_t)flags};
  return 0;
}

VF_API int vf_mutex_destroy(vf_mutex *mutex) {
  uint32_t held = mutex->flags_ & VF_SHARED ? ~(uint32_t)VF_FREE : HELD;
  return load(mutex) & held ? EBUSY : 0;
}

/* Loads the word first: a compare-and-swap that fails costs more than a load.
 */
static bool try_now(vf_mutex *mutex, uintptr_t site) {
  uint32_t word = load(mutex);
  while (!(word & HELD))
    if (change(mutex, &word, word | HELD, __ATOMIC_ACQUIRE)) {
      if (__builtin_expect(word & RECORDED, 0))
        vf_holder_took(mutex, site);
      return true;
    }
  return false;
}

static bool try_for(vf_mutex *mutex, uintptr_t site) {
  return mutex->flags_ & VF_SHARED ? vf_plain_try(&mutex->word_)
                                   : try_now(mutex, site);
}

VF_API int vf_mutex_trylock(vf_mutex *mutex) {
  return try_for(mutex, VF_CALLER) ? 0 : EBUSY;
}

/* Acquires a mutex that was held. Not inline: lock_found would need more stack.
 */
static __attribute__((noinline)) int lock_held(vf_mutex *mutex,
                                               uintptr_t site) {
  if (mutex->flags_ & VF_SHARED)
    return lock_shared(mutex, NULL);
  if (try_now(mutex, site))
    return 0;
  struct vf_waiter self = {0};
  return lock_slowly(mutex, &self, false, NULL, site);
}

static inline int lock_found(vf_mutex *mutex, uint32_t found, uintptr_t site) {
  if (found & HELD)
    return lock_held(mutex, site);
  vf_holder_took(mutex, site); /* The lock was free, so RECORDED was set. */
  return 0;
}

VF_API int vf_mutex_lock_found(vf_mutex *mutex, uint32_t found) {
  return lock_found(mutex, found, VF_CALLER);
}

void vf_mutex_lock_at(vf_mutex *mutex, uintptr_t site) {
  uint32_t found = __atomic_fetch_or(&mutex->word_, HELD, __ATOMIC_ACQUIRE);
  if (__builtin_expect((found & (HELD | RECORDED)) != 0, 0))
    lock_found(mutex, found, site);
}

VF_API int vf_mutex_lock(vf_mutex *mutex) {
  vf_mutex_lock_at(mutex, VF_CALLER);
  return 0;
}

int vf_mutex_clocklock_at(vf_mutex *mutex, clockid_t clock,
                          const struct timespec *at, uintptr_t site) {
  if (try_for(mutex, site))
    return 0;
  struct vf_deadline deadline;
  int error = vf_deadline_from(&deadline, clock, at);
  if (error)
    return error;
  if (mutex->flags_ & VF_SHARED)
    return lock_shared(mutex, &deadline);
  struct vf_waiter self = {0};
  return lock_slowly(mutex, &self, false, &deadline, site);
}

VF_API int vf_mutex_clocklock(vf_mutex *mutex, clockid_t clock,
                              const struct timespec *at) {
  return vf_mutex_clocklock_at(mutex, clock, at, VF_CALLER);
}

static bool is_due(uint64_t now, const struct vf_waiter *first,
                   uint32_t handed) {
  uint32_t since_handed = (uint32_t)(now >> VF_HANDED_UNIT_LOG2) - handed;
  return now - first->since > VF_HAND_OVER_NS &&
         since_handed > VF_HAND_OVER_NS >> VF_HANDED_UNIT_LOG2;
}

/* Callback of type vf_decide: determines the new value of the lock word. The
 * caller still holds the lock; *mutex is not accessed once HELD is cleared. */
static enum vf_wake release(void *what, const struct vf_waiter *first,
                            bool more) {
  vf_mutex *mutex = what;
  uint32_t word = load(mutex);
  if (!first) {
    uint32_t left;
    do
      left =
          has_spinner(word) ? word & ~(HELD | PARKED | SKIPS) : word & RECORDED;
    while (!change(mutex, &word, left, __ATOMIC_RELEASE));
    return VF_WAKE_NONE;
  }
  uint64_t now = vf_now_ns();
  bool hand_over = is_due(now, first, mutex->handed_);
  if (hand_over)
    mutex->handed_ =
        (uint32_t)(now >> VF_HANDED_UNIT_LOG2) & ~VF_HOLDER_REQUESTED;
  for (;;) {
    uint32_t without = word & ~(SKIPS | PARKED);
    uint32_t left = without | (more ? PARKED : 0);
    if (hand_over) { /* The new holder's acquire operation is that of its
                        wake-up. */
      if (change(mutex, &word, left, __ATOMIC_RELAXED))
        return VF_WAKE_HANDED;
    } else if (has_spinner(word)) {
      if (change(mutex, &word, (without | PARKED) & ~HELD, __ATOMIC_RELEASE))
        return VF_WAKE_NONE;
    } else if (change(mutex, &word, with_spinner(left & ~HELD),
                      __ATOMIC_RELEASE)) {
      return VF_WAKE_RETRY;
    }
  }
}

static __attribute__((noinline)) int unlock_slowly(vf_mutex *mutex) {
  if (mutex->flags_ & VF_SHARED) {
    vf_plain_unlock(&mutex->word_, VF_ACROSS);
    return 0;
  }
  uint32_t word = load(mutex), left;
  uintptr_t site = 0;
  if (__builtin_expect((word & RECORDED) && vf_sites_are_on(), 0))
    site = vf_site_freeing(mutex);
  do {
    bool spins = has_spinner(word);
    if ((word & PARKED) && (!spins || (word & SKIPS) >= MAX_SKIPS * SKIP)) {
      if (vf_unpark_one(mutex, release, mutex) && site != 0)
        vf_site_woke(site);
      return 0;
    }
    /* Without a spinner, SKIPS is cleared too: after a fork it may have any
     * value. */
    left = spins ? (word & ~(HELD | SKIPS)) | ((word + SKIP) & SKIPS)
                 : word & RECORDED;
  } while (!change(mutex, &word, left, __ATOMIC_RELEASE));
  return 0;
}

static inline int unlock_recorded(vf_mutex *mutex) {
  /* Threads have waited for this mutex before, and none does now. The word of a
   * mutex with VF_SHARED never has this value. */
  uint32_t word = load(mutex);
  if ((word & ~SKIPS) == (HELD | RECORDED) && !vf_sites_are_on()) {
    uint32_t kept = vf_slice_is_there()                ? RECORDED
                    : (word & SKIPS) < UNWANTED * SKIP ? word + SKIP - HELD
                                                       : 0;
    if (change(mutex, &word, kept, __ATOMIC_RELEASE))
      return 0;
  }
  return unlock_slowly(mutex);
}

VF_API int vf_mutex_unlock_contended(vf_mutex *mutex) {
  bool asked = vf_holder_asked(mutex);
  int result = unlock_recorded(mutex);
  if (asked)
    vf_slice_end();
  return result;
}

VF_API int vf_mutex_unlock(vf_mutex *mutex) {
  uint32_t held = load(mutex);
  return held == HELD && change(mutex, &held, 0, __ATOMIC_RELEASE)
             ? 0
             : vf_mutex_unlock_contended(mutex);
}

bool vf_mutex_may_move(void *what, bool must) {
  vf_mutex *mutex = what;
  uint32_t word = load(mutex);
  do {
    if (!(word & HELD) && !must)
      return false;
  } while (!change(mutex, &word, word | PARKED, __ATOMIC_RELAXED));
  return true;
}

void vf_mutex_lock_moved(vf_mutex *mutex, struct vf_waiter *self,
                         enum vf_wake how, uintptr_t site) {
  if (how != VF_WAKE_HANDED)
    lock_slowly(mutex, self, how == VF_WAKE_RETRY, NULL, site);
  else
    record_all(mutex, site);
}

__attribute__((constructor)) static void ask_for_hints(void) {
  vf_thread_states_begin(vf_env_get("VF_HINTS"));
}

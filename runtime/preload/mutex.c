/*===- preload/mutex.c - libc's mutexes, with a spin before the sleep -----===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   LD_PRELOAD=libvfpthread.so program
 *   VF_PTHREAD=off          leaves all to libc
 *   VF_SPIN_BUDGET_NS, VF_STATS=1: spin-wait/tuning.h
 *
 * Private mutexes of the four plain types are taken over. Robust, priority and
 * shared mutexes stay libc's: their words are private to libc's algorithms.
 *
 * The mutex keeps libc's layout, because libc's condition functions lock and
 * unlock it too when they handle conditions that processes share. __lock is
 *
 *   FREE
 *   HELD      held, and the release need not wake a thread
 *   SLEEPERS  held, and the release wakes one that sleeps on this word. It may
 *             be set with no thread asleep, for one system call; failing to set
 *             it before sleeping, or on being woken while others sleep on, may
 *             leave them asleep for ever.
 *
 * The release makes it FREE and does not access the mutex again. Any thread may
 * then take it: a thread that just arrived sets HELD; a thread that was woken
 * sets SLEEPERS, as it cannot know whether others sleep. Only the holder writes
 * __owner and __nusers.
 *
 * libc's waiters sleep as soon as they find the lock held. Here a waiter spins
 * first, and again after it is woken: meanwhile the other threads pass the lock
 * on in state HELD, without system calls. At most one thread spins (spin.h).
 *===----------------------------------------------------------------------===*/

#include "preload/mutex.h"
#include "common/process_wide.h"
#include "common/sites.h"
#include "common/slice.h"
#include "preload/libc.h"
#include "preload/next.h"
#include "preload/spin.h"

static const struct vf_spin_kind spins = {VF_PRELOAD_SPINS, VF_SPIN_LOCK};
/* Spins for a mutex that is locked again after a condition wait. These spins
 * mostly fail: the signalling thread still holds the mutex and, if the woken
 * thread spins on the same CPU, cannot run to release it. */
static const struct vf_spin_kind spins_again = {VF_PRELOAD_SPINS,
                                                VF_SPIN_EVENT};

enum { FREE, HELD, SLEEPERS };

static bool take(uint32_t *lock, uint32_t as) {
  uint32_t word = FREE;
  return __atomic_compare_exchange_n(lock, &word, as, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED);
}

struct attempt {
  uint32_t *lock, as;
};

static bool take_if_free(void *what) {
  struct attempt *attempt = what;
  return vf_get(attempt->lock) == FREE && take(attempt->lock, attempt->as);
}

/* Returns the error that libc returns for this deadline: ETIMEDOUT for negative
 * seconds, even if the nanoseconds are invalid too. Like libc, this library
 * checks the deadline only when a thread would sleep. */
static int refuse(const struct timespec *at) {
  if (at->tv_sec < 0)
    return ETIMEDOUT;
  return at->tv_nsec < 0 || at->tv_nsec > 999999999 ? EINVAL : 0;
}

/* Waits for the mutex. Returns 0, ETIMEDOUT or EINVAL. If at is null, there is
 * no deadline. */
static int wait_for(uint32_t *lock, clockid_t clock, const struct timespec *at,
                    const struct vf_spin_kind *kind, struct vf_visit *visit) {
  /* Spins after a condition wait count their successes under another address,
   * because the success of other spins does not predict theirs. */
  const void *object = kind == &spins ? lock : lock + 2;
  struct vf_deadline until = {.clock = clock}, *deadline = NULL;
  int result = 0;
  if (at) {
    result = refuse(at);
    until.at = *at;
    deadline = &until;
  }
  struct attempt attempt = {lock, HELD};
  while (result != ETIMEDOUT && result != EINVAL) {
    if (vf_spin(object, kind, take_if_free, &attempt, deadline))
      return 0;
    attempt.as = SLEEPERS;
    if (__atomic_exchange_n(lock, SLEEPERS, __ATOMIC_ACQUIRE) == FREE)
      return 0;
    vf_count_preload(VF_PRELOAD_SLEEPS);
    vf_visit_slept(visit);
    result = vf_futex_wait_until(lock, SLEEPERS, deadline, VF_PRIVATE);
    if (result == 0)
      vf_spin_woken(lock);
  }
  return result;
}

/* Not inline: its variables on the stack would cost each lock the check of a
 * canary. */
static __attribute__((noinline)) int
lock_slowly(uint32_t *lock, clockid_t clock, const struct timespec *at,
            const struct vf_spin_kind *kind, uintptr_t site) {
  struct vf_visit visit = vf_visit_begin(site);
  int result = wait_for(lock, clock, at, kind, &visit);
  vf_visit_end(&visit);
  return result;
}

static uint32_t *lock_of(pthread_mutex_t *mutex) {
  return (uint32_t *)&mutex->__data.__lock;
}

static int type_of(const pthread_mutex_t *mutex) {
  return mutex->__data.__kind & VF_LIBC_TYPE;
}

/* Returns true if the caller owns the mutex. The answer is exact, as no other
 * thread writes the caller's id. */
static bool is_owner(const pthread_mutex_t *mutex) {
  return __atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED) ==
         vf_libc_tid();
}

static void set_owner(pthread_mutex_t *mutex, int owner) {
  __atomic_store_n(&mutex->__data.__owner, owner, __ATOMIC_RELAXED);
}

static int lock_again(pthread_mutex_t *mutex) {
  if (mutex->__data.__count + 1 == 0)
    return EAGAIN;
  ++mutex->__data.__count;
  return 0;
}

/* The mutex for which this thread has requested a longer slice. libc's own
 * functions may release one unnoticed: it then counts until its next release.
 */
static __thread __attribute__((tls_model("initial-exec")))
const pthread_mutex_t *requested_for;

/* Returns true if what is locked is counted, or longer slices are requested. */
static inline bool is_noted(void) {
  return __builtin_expect(!(vf_get(&vf_libc_mode) & VF_QUICK_MUTEXES), 0);
}

/* Returns 0. */
static __attribute__((noinline)) int note_taken(const pthread_mutex_t *mutex,
                                                uintptr_t site) {
  if (vf_sites_are_on())
    vf_site_took(site, mutex);
  if (vf_slice_is_there() && vf_slice_begin())
    requested_for = mutex;
  return 0;
}

/* The mutex may be no mutex any more. */
static __attribute__((noinline)) void note_freed(const pthread_mutex_t *mutex) {
  if (requested_for != mutex)
    return;
  requested_for = NULL;
  vf_slice_end();
}

/* Records the caller as the owner, and adds users to __nusers. Returns 0. */
static inline int taken(pthread_mutex_t *mutex, unsigned users,
                        uintptr_t site) {
  set_owner(mutex, vf_libc_tid());
  mutex->__data.__nusers += users;
  if (type_of(mutex) == PTHREAD_MUTEX_RECURSIVE_NP)
    mutex->__data.__count = 1;
  return is_noted() ? note_taken(mutex, site) : 0;
}

/* Locks the mutex, or waits until *at, which is read only if the thread must
 * wait. pre: vf_takes_over(mutex). */
static inline int lock_until(pthread_mutex_t *mutex, clockid_t clock,
                             const struct timespec *at, unsigned users,
                             const struct vf_spin_kind *kind, bool *had_to_wait,
                             uintptr_t site) {
  int type = type_of(mutex);
  if (type == PTHREAD_MUTEX_RECURSIVE_NP && is_owner(mutex))
    return lock_again(mutex);
  if (type == PTHREAD_MUTEX_ERRORCHECK_NP && is_owner(mutex))
    return EDEADLK;
  if (__builtin_expect(!take(lock_of(mutex), HELD), 0)) {
    *had_to_wait = true;
    int result = lock_slowly(lock_of(mutex), clock, at, kind, site);
    if (result != 0)
      return result;
  }
  return taken(mutex, users, site);
}

static inline int lock_for_user(pthread_mutex_t *mutex, clockid_t clock,
                                const struct timespec *at, uintptr_t site) {
  bool had_to_wait;
  return lock_until(mutex, clock, at, 1, &spins, &had_to_wait, site);
}

int vf_mutex_lock_again(pthread_mutex_t *mutex, bool *had_to_wait,
                        uintptr_t site) {
  return lock_until(mutex, CLOCK_REALTIME, NULL, 0, &spins_again, had_to_wait,
                    site);
}

static inline int lock_at(pthread_mutex_t *mutex, uintptr_t site) {
  return vf_takes_over(mutex) ? lock_for_user(mutex, CLOCK_REALTIME, NULL, site)
                              : vf_libc_lock(mutex);
}

static inline int trylock_at(pthread_mutex_t *mutex, uintptr_t site) {
  if (!vf_takes_over(mutex))
    return vf_libc_trylock(mutex);
  if (type_of(mutex) == PTHREAD_MUTEX_RECURSIVE_NP && is_owner(mutex))
    return lock_again(mutex);
  if (!take(lock_of(mutex), HELD))
    return EBUSY;
  return taken(mutex, 1, site);
}

static inline int timedlock_at(pthread_mutex_t *mutex,
                               const struct timespec *at, uintptr_t site) {
  return vf_takes_over(mutex) ? lock_for_user(mutex, CLOCK_REALTIME, at, site)
                              : vf_next()->pthread_mutex_timedlock(mutex, at);
}

/* Returns true for a normal mutex of this library's, if nothing is counted: a
 * free one is then taken, and one that nobody waits for released, without the
 * steps of other kinds of mutexes. */
static inline bool is_quick(const pthread_mutex_t *mutex) {
  int kind = __atomic_load_n(&mutex->__data.__kind, __ATOMIC_RELAXED);
  uint32_t mode = __atomic_load_n(&vf_libc_mode, __ATOMIC_RELAXED);
  return (kind & ~VF_LIBC_NO_ELISION) == PTHREAD_MUTEX_TIMED_NP &&
         (mode & VF_QUICK_MUTEXES);
}

static __attribute__((noinline)) int lock_unless_quick(pthread_mutex_t *mutex,
                                                       uintptr_t site) {
  return lock_at(mutex, site);
}

VF_API int pthread_mutex_lock(pthread_mutex_t *mutex) {
  if (__builtin_expect(is_quick(mutex) && take(lock_of(mutex), HELD), 1)) {
    set_owner(mutex, vf_libc_tid());
    ++mutex->__data.__nusers;
    return 0;
  }
  return lock_unless_quick(mutex, VF_CALLER);
}

static __attribute__((noinline)) int
trylock_unless_quick(pthread_mutex_t *mutex, uintptr_t site) {
  return trylock_at(mutex, site);
}

VF_API int pthread_mutex_trylock(pthread_mutex_t *mutex) {
  if (!__builtin_expect(is_quick(mutex), 1))
    return trylock_unless_quick(mutex, VF_CALLER);
  if (!take(lock_of(mutex), HELD))
    return EBUSY;
  set_owner(mutex, vf_libc_tid());
  ++mutex->__data.__nusers;
  return 0;
}

VF_API int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
                                   const struct timespec *at) {
  if (!vf_takes_over(mutex))
    return vf_next()->pthread_mutex_clocklock(mutex, clock, at);
  if (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME)
    return EINVAL;
  return lock_for_user(mutex, clock, at, VF_CALLER);
}

VF_API int pthread_mutex_timedlock(pthread_mutex_t *mutex,
                                   const struct timespec *at) {
  return timedlock_at(mutex, at, VF_CALLER);
}

int vf_mutex_lock_at(pthread_mutex_t *mutex, uintptr_t site) {
  return lock_at(mutex, site);
}

int vf_mutex_trylock_at(pthread_mutex_t *mutex, uintptr_t site) {
  return trylock_at(mutex, site);
}

int vf_mutex_timedlock_at(pthread_mutex_t *mutex, const struct timespec *at,
                          uintptr_t site) {
  return timedlock_at(mutex, at, site);
}

bool vf_mutex_may_unlock(const pthread_mutex_t *mutex) {
  switch (type_of(mutex)) {
  case PTHREAD_MUTEX_RECURSIVE_NP:
    return is_owner(mutex);
  case PTHREAD_MUTEX_ERRORCHECK_NP:
    return is_owner(mutex) &&
           __atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED) != FREE;
  default:
    return true;
  }
}

/* Wakes a thread that sleeps on the lock, which is free and may be no lock any
 * more. site: vf_site_freeing. */
static __attribute__((noinline)) void wake_one(uint32_t *lock, uintptr_t site) {
  vf_count_preload(VF_PRELOAD_WAKES);
  if (site != 0)
    vf_site_woke(site);
  vf_spin_wakes(lock);
  vf_futex_wake(lock, 1, VF_PRIVATE);
}

/* Releases the mutex, and subtracts users from __nusers. pre:
 * vf_takes_over(mutex), vf_mutex_may_unlock(mutex). */
static inline void unlock(pthread_mutex_t *mutex, unsigned users) {
  if (type_of(mutex) == PTHREAD_MUTEX_RECURSIVE_NP &&
      --mutex->__data.__count != 0)
    return;
  uint32_t *lock = lock_of(mutex);
  bool noted = is_noted();
  uintptr_t site = noted && vf_sites_are_on() ? vf_site_freeing(mutex) : 0;
  set_owner(mutex, 0);
  mutex->__data.__nusers -= users;
  /* From here on the mutex may be destroyed: only its address is used. */
  if (__atomic_exchange_n(lock, FREE, __ATOMIC_RELEASE) == SLEEPERS)
    wake_one(lock, site);
  if (noted)
    note_freed(mutex);
}

static __attribute__((noinline)) int
unlock_unless_quick(pthread_mutex_t *mutex) {
  if (!vf_takes_over(mutex))
    return vf_libc_unlock(mutex);
  if (!vf_mutex_may_unlock(mutex))
    return EPERM;
  unlock(mutex, 1);
  return 0;
}

VF_API int pthread_mutex_unlock(pthread_mutex_t *mutex) {
  if (!__builtin_expect(is_quick(mutex), 1))
    return unlock_unless_quick(mutex);
  uint32_t *lock = lock_of(mutex);
  set_owner(mutex, 0);
  --mutex->__data.__nusers;
  if (__builtin_expect(
          __atomic_exchange_n(lock, FREE, __ATOMIC_RELEASE) == SLEEPERS, 0))
    wake_one(lock, 0);
  return 0;
}

void vf_mutex_unlock_to_wait(pthread_mutex_t *mutex) { unlock(mutex, 0); }

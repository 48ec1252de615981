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
 * Private mutexes of the four plain types and spin locks (spin_lock.c) are
 * taken over. Robust, priority and shared mutexes, conditions, semaphores,
 * read-write locks and barriers stay libc's: their words are private to libc's
 * algorithms, which those who destroy and those who wait inside libc rely on.
 *
 * The mutex stays what libc makes of it, since libc's conditions lock and
 * unlock it too. __lock is
 *
 *   FREE
 *   HELD      and whoever releases it need wake nobody
 *   SLEEPERS  held, and the release wakes one that sleeps on this word. Legal
 *             to be set with nobody asleep, for one system call; failing to set
 *             it before sleeping, or on being woken while others sleep on, may
 *             leave them asleep for ever.
 *
 * The release makes it FREE and is done with the mutex; it is anybody's then,
 * who makes it HELD if he just came. Whoever was woken makes it SLEEPERS, for
 * he cannot know who else sleeps. __owner and __nusers are the holder's to
 * write.
 *
 * libc sleeps as soon as the lock is found held. Here a waiter spins first, and
 * again when it was woken: meanwhile the others pass the lock on as HELD, and
 * make no system calls. At most one spins for a lock at a time: more would take
 * the line from the holder, and the CPU from others, and only one can win.
 *
 * Whether one spins, and whether that was worth it so far, is noted in a table
 * by the lock's address. What stands there costs time only. A spinner's mark is
 * the time it began, and void once any spinner must have given up: so it does
 * not matter if it never clears it, in a forked child (by whatever kind of
 * fork), or as a signal handler jumped out, or as another lock's spinner
 * overwrote it.
 *===----------------------------------------------------------------------===*/

#include "blocking-sync/patience.h"
#include "common/process_wide.h"
#include "preload/libc.h"
#include "preload/statistics.h"
#include "spin-wait/tuning.h"
#include <stddef.h>
#include <threads.h>

enum { FREE, HELD, SLEEPERS };

/* Unit of a mark: 1 us, wraps after 73 minutes, when a mark left behind may
 * keep others from spinning for as long as VF_MARK_AGE. */
#define MARK_UNIT_LOG2 10
/* The largest budget twice: by then a spinner has given up or was off its CPU,
 * and then another may spin. */
#define MARK_AGE (2 * VF_BUDGET_MAX_NS >> MARK_UNIT_LOG2)
/* As many as buckets of spin waits, for the same reason: only locks waited for
 * at the same time can meet. */
#define PLACES_LOG2 8

static struct place {
  uint32_t mark;     /* when the spin began, 0 for nobody spins */
  uint32_t patience; /* of how many spins in vain, less those that were not */
} __attribute__((aligned(VF_CACHE_LINE))) places[1u << PLACES_LOG2];

static struct place *place_of(const void *lock) {
  uint64_t key = (uint64_t)(uintptr_t)lock >> 3; /* Aligned to eight bytes. */
  uint64_t hash = key * UINT64_C(0x9E3779B97F4A7C15); /* Fibonacci hashing. */
  return &places[hash >> (64 - PLACES_LOG2)];
}

static bool take(uint32_t *lock, uint32_t as) {
  uint32_t word = FREE;
  return __atomic_compare_exchange_n(lock, &word, as, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED);
}

static uint32_t mark_for(uint64_t now) {
  uint32_t mark = (uint32_t)(now >> MARK_UNIT_LOG2);
  return mark ? mark : 1;
}

static bool become_spinner(struct place *place, uint32_t mark) {
  uint32_t other = vf_get(&place->mark);
  if (other != 0 && mark - other <= MARK_AGE)
    return false;
  return __atomic_compare_exchange_n(&place->mark, &other, mark, false,
                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static bool look_until(uint32_t *lock, uint32_t as, uint64_t now,
                       uint64_t end) {
  unsigned pauses = VF_FIRST_PAUSES;
  for (bool here = true;;) {
    if (vf_get(lock) == FREE && take(lock, as))
      return true;
    if (!here || now >= end)
      return false;
    here = vf_pause(&pauses, &now);
  }
}

static uint64_t time_left(const struct vf_deadline *deadline) {
  if (!deadline)
    return UINT64_MAX;
  struct timespec now;
  clock_gettime(deadline->clock, &now);
  if (deadline->at.tv_sec < now.tv_sec)
    return 0;
  /* Far more than a budget, and no overflow. */
  if (deadline->at.tv_sec - now.tv_sec > 1)
    return UINT64_MAX;
  int64_t left = (deadline->at.tv_sec - now.tv_sec) * INT64_C(1000000000) +
                 deadline->at.tv_nsec - now.tv_nsec;
  return left > 0 ? (uint64_t)left : 0;
}

/* The wait before a sleep. Whether it ended with the lock taken. */
static bool spin(uint32_t *lock, uint32_t as,
                 const struct vf_deadline *deadline) {
  struct place *place = place_of(lock);
  uint64_t now = vf_now_ns();
  uint32_t mark = mark_for(now);
  if (!become_spinner(place, mark))
    return false;
  uint64_t budget = vf_spin_budget_ns() >> vf_get(&place->patience);
  uint64_t left = time_left(deadline);
  bool got_it =
      look_until(lock, as, now, now + (budget < left ? budget : left));
  vf_learn(&place->patience, got_it);
  if (vf_get(&place->mark) == mark)
    vf_set(&place->mark, 0);
  vf_count_preload(VF_PRELOAD_SPINS);
  if (got_it)
    vf_count_preload(VF_PRELOAD_SPUN);
  return got_it;
}

/* What libc finds of a time, and only once it would sleep, in this order. */
static int refuse(const struct timespec *at) {
  if (at->tv_sec < 0)
    return ETIMEDOUT;
  return at->tv_nsec < 0 || at->tv_nsec > 999999999 ? EINVAL : 0;
}

/* Returns 0, ETIMEDOUT or EINVAL. at is null for never. */
static int lock_slowly(uint32_t *lock, clockid_t clock,
                       const struct timespec *at) {
  struct vf_deadline until = {.clock = clock}, *deadline = NULL;
  int result = 0;
  if (at) {
    result = refuse(at);
    until.at = *at;
    deadline = &until;
  }
  uint32_t as = HELD;
  while (result != ETIMEDOUT && result != EINVAL) {
    if (spin(lock, as, deadline))
      return 0;
    as = SLEEPERS;
    if (__atomic_exchange_n(lock, SLEEPERS, __ATOMIC_ACQUIRE) == FREE)
      return 0;
    vf_count_preload(VF_PRELOAD_SLEEPS);
    result = vf_futex_wait_until(lock, SLEEPERS, deadline, VF_PRIVATE);
  }
  return result;
}

static uint32_t *lock_of(pthread_mutex_t *mutex) {
  return (uint32_t *)&mutex->__data.__lock;
}

static int type_of(const pthread_mutex_t *mutex) {
  return mutex->__data.__kind & VF_LIBC_TYPE;
}

/* True of the caller only if it is so: nobody else writes its id. */
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

static int taken(pthread_mutex_t *mutex) {
  set_owner(mutex, vf_libc_tid());
  ++mutex->__data.__nusers;
  if (type_of(mutex) == PTHREAD_MUTEX_RECURSIVE_NP)
    mutex->__data.__count = 1;
  return 0;
}

/* pre: vf_takes_over(mutex). *at is read by who must wait only. */
static inline int lock_until(pthread_mutex_t *mutex, clockid_t clock,
                             const struct timespec *at) {
  int type = type_of(mutex);
  if (type == PTHREAD_MUTEX_RECURSIVE_NP && is_owner(mutex))
    return lock_again(mutex);
  if (type == PTHREAD_MUTEX_ERRORCHECK_NP && is_owner(mutex))
    return EDEADLK;
  if (__builtin_expect(!take(lock_of(mutex), HELD), 0)) {
    int result = lock_slowly(lock_of(mutex), clock, at);
    if (result != 0)
      return result;
  }
  return taken(mutex);
}

VF_API int pthread_mutex_lock(pthread_mutex_t *mutex) {
  return vf_takes_over(mutex) ? lock_until(mutex, CLOCK_REALTIME, NULL)
                              : vf_libc_lock(mutex);
}

VF_API int pthread_mutex_trylock(pthread_mutex_t *mutex) {
  if (!vf_takes_over(mutex))
    return vf_libc_trylock(mutex);
  if (type_of(mutex) == PTHREAD_MUTEX_RECURSIVE_NP && is_owner(mutex))
    return lock_again(mutex);
  return take(lock_of(mutex), HELD) ? taken(mutex) : EBUSY;
}

VF_API int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
                                   const struct timespec *at) {
  if (!vf_takes_over(mutex))
    return vf_libc_clocklock(mutex, clock, at);
  if (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME)
    return EINVAL;
  return lock_until(mutex, clock, at);
}

VF_API int pthread_mutex_timedlock(pthread_mutex_t *mutex,
                                   const struct timespec *at) {
  return vf_takes_over(mutex) ? lock_until(mutex, CLOCK_REALTIME, at)
                              : vf_libc_timedlock(mutex, at);
}

VF_API int pthread_mutex_unlock(pthread_mutex_t *mutex) {
  if (!vf_takes_over(mutex))
    return vf_libc_unlock(mutex);
  int type = type_of(mutex);
  if (type == PTHREAD_MUTEX_RECURSIVE_NP) {
    if (!is_owner(mutex))
      return EPERM;
    if (--mutex->__data.__count != 0)
      return 0;
  }
  uint32_t *lock = lock_of(mutex);
  if (type == PTHREAD_MUTEX_ERRORCHECK_NP &&
      !(is_owner(mutex) && vf_get(lock) != FREE))
    return EPERM;
  set_owner(mutex, 0);
  --mutex->__data.__nusers;
  /* From here on the mutex may be gone: its address is all that is used. */
  if (__atomic_exchange_n(lock, FREE, __ATOMIC_RELEASE) == SLEEPERS) {
    vf_count_preload(VF_PRELOAD_WAKES);
    vf_futex_wake(lock, 1, VF_PRIVATE);
  }
  return 0;
}

/* C11's are the same mutexes with other results; libc's call its own functions
 * by names that cannot be interposed. */
static int as_thrd(int result) {
  switch (result) {
  case 0:
    return thrd_success;
  case EBUSY:
    return thrd_busy;
  case ETIMEDOUT:
    return thrd_timedout;
  case ENOMEM:
    return thrd_nomem;
  default:
    return thrd_error;
  }
}

VF_API int mtx_lock(mtx_t *mutex) {
  return as_thrd(pthread_mutex_lock((pthread_mutex_t *)mutex));
}

VF_API int mtx_trylock(mtx_t *mutex) {
  return as_thrd(pthread_mutex_trylock((pthread_mutex_t *)mutex));
}

VF_API int mtx_timedlock(mtx_t *restrict mutex,
                         const struct timespec *restrict at) {
  return as_thrd(pthread_mutex_timedlock((pthread_mutex_t *)mutex, at));
}

VF_API int mtx_unlock(mtx_t *mutex) {
  return as_thrd(pthread_mutex_unlock((pthread_mutex_t *)mutex));
}

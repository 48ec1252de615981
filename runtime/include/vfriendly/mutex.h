/*===- vfriendly/mutex.h - Mutexes for virtual machines -------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   static vf_mutex lock = VF_MUTEX_INIT;
 *   vf_mutex_lock(&lock);
 *   ...
 *   vf_mutex_unlock(&lock);
 *
 * One waiter at a time spins, for as long as blocking would cost and only while
 * there are CPUs to spare; all other waiters sleep. An arriving thread may take
 * a free lock before the waiters, but once per millisecond the lock is handed
 * to a waiter that has been queued for a millisecond. If a lock is in constant
 * use, a waiter first sleeps four times, about a millisecond in all, and then
 * queues; during each of these sleeps it does not notice that the lock is free.
 * If the spinner is kept from running, a free lock may stay unused although
 * other waiters sleep: for 10 ms, or for as long as they had already waited if
 * that is longer. Waiters that a broadcast moved to the mutex then sleep until
 * the spinner runs again or 250 more unlocks have happened. Not recursive; no
 * priority inheritance.
 *
 * In this and the other headers, unless stated otherwise: functions return 0 or
 * an errno value, preserve errno, never abort, and may be called from any
 * thread and before main, but not from signal handlers. None is a cancellation
 * point, and no waiting function may be left by longjmp out of a signal handler
 * or by asynchronous cancellation. A forked child may go on using a mutex or a
 * write lock that its own thread held.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MUTEX_H
#define VFRIENDLY_MUTEX_H

#include <stdint.h>
#include <sys/types.h> /* clockid_t, which strict C does not have from time.h */
#include <time.h>

/* <time.h> declares it only for POSIX, not with -std=c99. */
struct timespec;

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_mutex {
  uint32_t word_;
  uint16_t flags_;
  uint16_t holder_cpu_;
  uint16_t holder_thread_;
  uint16_t failed_spins_;
  uint32_t handed_;
} vf_mutex;

#define VF_MUTEX_INIT {0, 0, 0, 0, 0, 0}

/* Flag for objects in memory that several processes map. The kernel queues
 * their waiters, so the bound on how long a waiter is passed over does not
 * hold. */
#define VF_SHARED 1u

/* Initializes a mutex. pre: *mutex is not in use. Returns EINVAL if flags is
 * neither 0 nor VF_SHARED. */
int vf_mutex_init(vf_mutex *mutex, unsigned flags);

/* Destroys the mutex, which must be initialized again before its next use.
 * Returns EBUSY if it is locked. */
int vf_mutex_destroy(vf_mutex *mutex);

/* Acquires the mutex. pre: the caller does not hold it (it would wait forever).
 */
int vf_mutex_lock(vf_mutex *mutex);

/* Acquires the mutex if it is free. Returns EBUSY if it is locked. */
int vf_mutex_trylock(vf_mutex *mutex);

/* Acquires the mutex, but waits no longer than until the deadline, a time of
 * clock, which is CLOCK_MONOTONIC or CLOCK_REALTIME. Returns ETIMEDOUT after
 * it, and EINVAL for another clock or nanoseconds outside 0..999999999, which
 * are checked only if it has to wait. */
int vf_mutex_clocklock(vf_mutex *mutex, clockid_t clock,
                       const struct timespec *deadline);

/* Releases the mutex. pre: the caller holds it. Does not access *mutex once it
 * is free, so the next holder may destroy it and free its memory. */
int vf_mutex_unlock(vf_mutex *mutex);

/* Slow paths of the inline functions below; not for users. found is the word as
 * it was before bit 1 was set. */
int vf_mutex_lock_found(vf_mutex *mutex, uint32_t found);
int vf_mutex_unlock_contended(vf_mutex *mutex);

/* With optimization, lock and unlock of a mutex without waiters are inlined as
 * one atomic read-modify-write each. So two bits of the word are part of the
 * ABI: 1, the mutex is held, and 8, acquisitions are recorded. A mutex whose
 * word is 1 is released without a call.
 *
 * To lock, a fetch-or sets bit 1. It is a single instruction on processors that
 * have one (AArch64 with LSE, RISC-V). x86-64 has none that also returns the
 * word: compilers emit a load and a compare-and-swap, and repeat them if
 * another bit changes in between. To unlock, a load precedes the
 * compare-and-swap, so that the latter seldom fails; the holder has the cache
 * line anyway. */
#if defined(__OPTIMIZE__) && !defined(VF_NO_INLINE)
extern __inline__
    __attribute__((gnu_inline)) int vf_mutex_lock(vf_mutex *mutex) {
  uint32_t found = __atomic_fetch_or(&mutex->word_, 1, __ATOMIC_ACQUIRE);
  return __builtin_expect((found & (1 | 8)) == 0, 1)
             ? 0
             : vf_mutex_lock_found(mutex, found);
}

extern __inline__ __attribute__((gnu_inline)) int
vf_mutex_unlock(vf_mutex *mutex) {
  uint32_t held = __atomic_load_n(&mutex->word_, __ATOMIC_RELAXED);
  return held == 1 && __builtin_expect(__atomic_compare_exchange_n(
                                           &mutex->word_, &held, 0, 0,
                                           __ATOMIC_RELEASE, __ATOMIC_RELAXED),
                                       1)
             ? 0
             : vf_mutex_unlock_contended(mutex);
}
#endif

#ifdef __cplusplus
}
#endif

#endif /* VFRIENDLY_MUTEX_H */

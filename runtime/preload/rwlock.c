/*===- preload/rwlock.c - A spin before libc's read-write locks sleep -----===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Reads the word until libc's function would get the lock without waiting, or
 * until the time for spinning is over, and then calls libc's function. So all
 * of libc's rules still apply: which thread goes first, which deadlocks are
 * reported, and how the fields are used. A writer does not spin for a lock that
 * prefers writers, because libc keeps new readers out only after it knows of a
 * writer.
 *===----------------------------------------------------------------------===*/

#include "common/process_wide.h"
#include "preload/libc.h"
#include "preload/next.h"
#include "preload/spin.h"
#include <stddef.h>

static const struct vf_spin_kind spins = {VF_PRELOAD_RWLOCK_SPINS,
                                          VF_SPIN_LOCK};

static uint32_t word_of(const pthread_rwlock_t *lock) {
  return __atomic_load_n(&lock->__data.__readers, __ATOMIC_RELAXED);
}

static bool may_read(void *what) {
  const pthread_rwlock_t *lock = what;
  uint32_t word = word_of(lock);
  if (!(word & VF_LIBC_WRITER))
    return true;
  if (word & VF_LIBC_WRITERS_TURN)
    return false;
  /* A writer waits for the readers to leave; unless the lock prefers writers,
   * more readers may still enter. */
  return lock->__data.__flags != PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP ||
         word < VF_LIBC_READER;
}

static bool may_write(void *what) {
  uint32_t word = word_of(what);
  return !(word & VF_LIBC_WRITER) && word < VF_LIBC_READER;
}

/* Returns true if a call of libc's function for this lock would wait. Such a
 * call does not wait if the caller holds the lock as a writer: libc then
 * reports a deadlock at once. */
static bool would_wait(pthread_rwlock_t *lock, bool (*may)(void *what)) {
  return !may(lock) && vf_is_on(VF_RWLOCKS) &&
         __atomic_load_n(&lock->__data.__cur_writer, __ATOMIC_RELAXED) !=
             vf_libc_tid();
}

/* Returns true if libc's function can be called directly, as the lock is free
 * and statistics are off. */
static bool is_quick(pthread_rwlock_t *lock, bool (*may)(void *what)) {
  return may(lock) && !vf_sites_are_on();
}

static int lock_in_libc(pthread_rwlock_t *lock, bool writes, enum vf_ends ends,
                        clockid_t clock, const struct timespec *at) {
  switch (ends) {
  case VF_NEVER:
    return writes ? vf_libc_wrlock(lock) : vf_libc_rdlock(lock);
  case VF_AT:
    return writes ? vf_next()->pthread_rwlock_timedwrlock(lock, at)
                  : vf_next()->pthread_rwlock_timedrdlock(lock, at);
  default:
    return writes ? vf_next()->pthread_rwlock_clockwrlock(lock, clock, at)
                  : vf_next()->pthread_rwlock_clockrdlock(lock, clock, at);
  }
}

/* Spins first. If that fails, the thread sleeps in libc, unless the lock is
 * released in between. */
__attribute__((noinline)) static int
lock_slowly(pthread_rwlock_t *lock, bool (*may)(void *what), enum vf_ends ends,
            clockid_t clock, const struct timespec *at, uintptr_t site) {
  bool writes = may == may_write;
  struct vf_visit visit = {0};
  if (would_wait(lock, may)) {
    bool spins_here =
        !writes || lock->__data.__flags == PTHREAD_RWLOCK_PREFER_READER_NP;
    visit = vf_spin_visit(lock, spins_here ? &spins : NULL, may, lock, ends,
                          clock, at, site);
  }
  return vf_counted(lock_in_libc(lock, writes, ends, clock, at), VF_RWLOCKS,
                    &visit, site);
}

VF_API int pthread_rwlock_rdlock(pthread_rwlock_t *lock) {
  return is_quick(lock, may_read)
             ? vf_libc_rdlock(lock)
             : lock_slowly(lock, may_read, VF_NEVER, CLOCK_REALTIME, NULL,
                           VF_CALLER);
}

VF_API int pthread_rwlock_wrlock(pthread_rwlock_t *lock) {
  return is_quick(lock, may_write)
             ? vf_libc_wrlock(lock)
             : lock_slowly(lock, may_write, VF_NEVER, CLOCK_REALTIME, NULL,
                           VF_CALLER);
}

VF_API int pthread_rwlock_timedrdlock(pthread_rwlock_t *restrict lock,
                                      const struct timespec *restrict at) {
  return is_quick(lock, may_read)
             ? vf_next()->pthread_rwlock_timedrdlock(lock, at)
             : lock_slowly(lock, may_read, VF_AT, CLOCK_REALTIME, at,
                           VF_CALLER);
}

VF_API int pthread_rwlock_timedwrlock(pthread_rwlock_t *restrict lock,
                                      const struct timespec *restrict at) {
  return is_quick(lock, may_write)
             ? vf_next()->pthread_rwlock_timedwrlock(lock, at)
             : lock_slowly(lock, may_write, VF_AT, CLOCK_REALTIME, at,
                           VF_CALLER);
}

VF_API int pthread_rwlock_clockrdlock(pthread_rwlock_t *restrict lock,
                                      clockid_t clock,
                                      const struct timespec *restrict at) {
  return is_quick(lock, may_read)
             ? vf_next()->pthread_rwlock_clockrdlock(lock, clock, at)
             : lock_slowly(lock, may_read, VF_AT_CLOCK, clock, at, VF_CALLER);
}

VF_API int pthread_rwlock_clockwrlock(pthread_rwlock_t *restrict lock,
                                      clockid_t clock,
                                      const struct timespec *restrict at) {
  return is_quick(lock, may_write)
             ? vf_next()->pthread_rwlock_clockwrlock(lock, clock, at)
             : lock_slowly(lock, may_write, VF_AT_CLOCK, clock, at, VF_CALLER);
}

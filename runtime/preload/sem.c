/*===- preload/sem.c - A spin before libc's semaphores sleep --------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Reads the value until it is positive or the time for spinning is over, and
 * then calls libc, which decrements the value, sleeps, and handles cancellation
 * and signals. So this code makes no assumption about other waiters, about
 * sharing by processes, or about libc's other fields. A spinning thread may
 * overtake sleeping ones, as any newly arriving thread may.
 *
 * A signal handler that runs during the spin, some 50 us, does not end the wait
 * with EINTR, just as a handler that runs before the call does not.
 *===----------------------------------------------------------------------===*/

#include "common/process_wide.h"
#include "preload/libc.h"
#include "preload/next.h"
#include "preload/spin.h"
#include <stddef.h>

static const struct vf_spin_kind spins = {VF_PRELOAD_SEM_SPINS, VF_SPIN_EVENT};

static bool has_some(void *value) { return vf_get(value) > 0; }

static bool would_wait(sem_t *sem) {
  return !has_some(vf_libc_sem_value(sem)) && vf_is_on(VF_SEMS);
}

/* Returns true if libc's function can be called directly, as a unit is
 * available and statistics are off. */
static bool is_quick(sem_t *sem) {
  return has_some(vf_libc_sem_value(sem)) && !vf_sites_are_on();
}

static int wait_in_libc(sem_t *sem, enum vf_ends ends, clockid_t clock,
                        const struct timespec *at) {
  switch (ends) {
  case VF_NEVER:
    return vf_next()->sem_wait(sem);
  case VF_AT:
    return vf_next()->sem_timedwait(sem, at);
  default:
    return vf_next()->sem_clockwait(sem, clock, at);
  }
}

/* Spins first. If that fails, the thread sleeps in libc, unless another thread
 * posts in between. */
__attribute__((noinline)) static int wait_slowly(sem_t *sem, enum vf_ends ends,
                                                 clockid_t clock,
                                                 const struct timespec *at,
                                                 uintptr_t site) {
  struct vf_visit visit = {0};
  if (would_wait(sem))
    visit = vf_spin_visit(sem, &spins, has_some, vf_libc_sem_value(sem), ends,
                          clock, at, site);
  return vf_counted(wait_in_libc(sem, ends, clock, at), VF_SEMS, &visit, site);
}

VF_API int sem_wait(sem_t *sem) {
  return is_quick(sem)
             ? vf_next()->sem_wait(sem)
             : wait_slowly(sem, VF_NEVER, CLOCK_REALTIME, NULL, VF_CALLER);
}

VF_API int sem_timedwait(sem_t *restrict sem,
                         const struct timespec *restrict at) {
  return is_quick(sem) ? vf_next()->sem_timedwait(sem, at)
                       : wait_slowly(sem, VF_AT, CLOCK_REALTIME, at, VF_CALLER);
}

VF_API int sem_clockwait(sem_t *restrict sem, clockid_t clock,
                         const struct timespec *restrict at) {
  return is_quick(sem) ? vf_next()->sem_clockwait(sem, clock, at)
                       : wait_slowly(sem, VF_AT_CLOCK, clock, at, VF_CALLER);
}

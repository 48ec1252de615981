/*===- preload/sem.c - A spin before libc's semaphores sleep --------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Only reads the value, until there is something to take or the time is up, and
 * then calls libc, which takes it, sleeps, is cancelled and interrupted. So
 * nothing is said of who else waits, whether processes share it, or what libc
 * does with the rest of it. Whoever spins barges as one does that just comes.
 *
 * A signal handler that runs during the spin, some 50 us, does not end the wait
 * with EINTR, just as one that ran before the call would not.
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

VF_API int sem_wait(sem_t *sem) {
  if (would_wait(sem))
    vf_spin(sem, &spins, has_some, vf_libc_sem_value(sem), NULL);
  return vf_next()->sem_wait(sem);
}

VF_API int sem_timedwait(sem_t *restrict sem,
                         const struct timespec *restrict at) {
  if (would_wait(sem))
    vf_spin_until(sem, &spins, has_some, vf_libc_sem_value(sem), CLOCK_REALTIME,
                  at);
  return vf_next()->sem_timedwait(sem, at);
}

VF_API int sem_clockwait(sem_t *restrict sem, clockid_t clock,
                         const struct timespec *restrict at) {
  if (would_wait(sem))
    vf_spin_until(sem, &spins, has_some, vf_libc_sem_value(sem), clock, at);
  return vf_next()->sem_clockwait(sem, clock, at);
}

/*===- preload/next.h - libc's interposed functions -----------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   return vf_next()->sem_wait(sem);
 *
 * A constructor looks the functions up, so that no lock operation has to; calls
 * before the constructor look them up themselves. Functions that libc also
 * exports by a second name need no look-up: vf_libc_lock and those declared
 * with it.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PRELOAD_NEXT_H
#define VFRIENDLY_PRELOAD_NEXT_H

#include "common/process_wide.h"
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>

/* libc's functions, found by dlsym, which returns the newest version of each.
 * For conditions this is the version that exports.map exports. */
#define VF_NEXT_FUNCTIONS(X)                                                   \
  X(pthread_mutex_timedlock)                                                   \
  X(pthread_mutex_clocklock)                                                   \
  X(pthread_cond_wait)                                                         \
  X(pthread_cond_timedwait)                                                    \
  X(pthread_cond_clockwait)                                                    \
  X(pthread_cond_signal)                                                       \
  X(pthread_cond_broadcast)                                                    \
  X(pthread_rwlock_timedrdlock)                                                \
  X(pthread_rwlock_timedwrlock)                                                \
  X(pthread_rwlock_clockrdlock)                                                \
  X(pthread_rwlock_clockwrlock)                                                \
  X(pthread_barrier_wait)                                                      \
  X(sem_wait)                                                                  \
  X(sem_timedwait)                                                             \
  X(sem_clockwait)

struct vf_next {
#define VF_NEXT_MEMBER(name) __typeof__(name) *name;
  VF_NEXT_FUNCTIONS(VF_NEXT_MEMBER)
  uint32_t ready;
};

extern VF_HIDDEN struct vf_next vf_next_table;
void vf_next_look_up(void);

static inline const struct vf_next *vf_next(void) {
  if (__builtin_expect(!__atomic_load_n(&vf_next_table.ready, __ATOMIC_ACQUIRE),
                       0))
    vf_next_look_up();
  return &vf_next_table;
}

/* libc's functions under names that no library interposes, so they need no
 * look-up. */
int vf_libc_lock(pthread_mutex_t *mutex);
int vf_libc_trylock(pthread_mutex_t *mutex);
int vf_libc_unlock(pthread_mutex_t *mutex);
int vf_libc_rdlock(pthread_rwlock_t *lock);
int vf_libc_wrlock(pthread_rwlock_t *lock);

#endif /* VFRIENDLY_PRELOAD_NEXT_H */

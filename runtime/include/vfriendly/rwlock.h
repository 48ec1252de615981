/*===- vfriendly/rwlock.h - Read-write locks ------------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   static vf_rwlock lock = VF_RWLOCK_INIT;
 *   vf_rwlock_rdlock(&lock);
 *   ... reads ...
 *   vf_rwlock_unlock(&lock);
 *
 * A waiting writer keeps new readers out, so that neither readers nor writers
 * starve. A thread that holds a read lock must therefore not request a second
 * one.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_RWLOCK_H
#define VFRIENDLY_RWLOCK_H

#include "vfriendly/mutex.h"
#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_rwlock {
  vf_mutex gate_;
  uint32_t word_;
  uint32_t flags_;
} vf_rwlock;

#define VF_RWLOCK_INIT {VF_MUTEX_INIT, 0, 0}

/* Initializes a lock. pre: *lock is not in use. Returns EINVAL if flags is
 * neither 0 nor VF_SHARED. */
int vf_rwlock_init(vf_rwlock *lock, unsigned flags);

/* Destroys the lock. Returns EBUSY if it is locked. */
int vf_rwlock_destroy(vf_rwlock *lock);

/* Acquire the lock as a reader or as the writer. pre: the caller does not hold
 * it, in either way. Return EAGAIN if there are 2^30 - 1 readers, and EBUSY,
 * ETIMEDOUT and EINVAL as the functions of vf_mutex do. */
int vf_rwlock_rdlock(vf_rwlock *lock);
int vf_rwlock_tryrdlock(vf_rwlock *lock);
int vf_rwlock_clockrdlock(vf_rwlock *lock, clockid_t clock,
                          const struct timespec *deadline);
int vf_rwlock_wrlock(vf_rwlock *lock);
int vf_rwlock_trywrlock(vf_rwlock *lock);
int vf_rwlock_clockwrlock(vf_rwlock *lock, clockid_t clock,
                          const struct timespec *deadline);

/* Releases the lock. pre: the caller holds it, in either way. Does not access
 * *lock once it is free. */
int vf_rwlock_unlock(vf_rwlock *lock);

#ifdef __cplusplus
}
#endif

#endif /* VFRIENDLY_RWLOCK_H */

/*===- vfriendly/cond.h - Condition variables without thundering herd -----===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   vf_mutex_lock(&lock);
 *   while (!ready)
 *     vf_cond_wait(&changed, &lock);
 *   ...
 *   vf_mutex_unlock(&lock);
 *
 * The thread that makes the condition true then calls, with or without holding
 * the lock:
 *
 *   vf_cond_broadcast(&changed);
 *
 * If the lock is held, a broadcast does not wake all waiters at once, because
 * all but one would have to wait for the lock: each wakes when it is its turn
 * to acquire the lock.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_COND_H
#define VFRIENDLY_COND_H

#include "vfriendly/mutex.h"
#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_cond {
  uint32_t word_;
  uint32_t flags_;
} vf_cond;

#define VF_COND_INIT {0, 0}

/* Initializes a condition. pre: *cond is not in use. Returns EINVAL if flags is
 * neither 0 nor VF_SHARED. */
int vf_cond_init(vf_cond *cond, unsigned flags);

/* Destroys the condition. pre: no thread waits, or all that waited have been
 * signalled; with VF_SHARED, they have also returned. */
int vf_cond_destroy(vf_cond *cond);

/* Waits for a signal. pre: the caller holds mutex, and all threads that wait at
 * the same time use the same mutex. Releases mutex while it waits and holds it
 * again when it returns. May return without a signal. */
int vf_cond_wait(vf_cond *cond, vf_mutex *mutex);

/* Like vf_cond_wait, but waits no longer than until the deadline. Returns
 * ETIMEDOUT if the deadline has passed, and EINVAL as vf_mutex_clocklock does;
 * the caller holds mutex in each case. */
int vf_cond_clockwait(vf_cond *cond, vf_mutex *mutex, clockid_t clock,
                      const struct timespec *deadline);

/* Wakes one waiter, if there is any. */
int vf_cond_signal(vf_cond *cond);

/* Wakes all threads that wait now. */
int vf_cond_broadcast(vf_cond *cond);

#ifdef __cplusplus
}
#endif

#endif /* VFRIENDLY_COND_H */

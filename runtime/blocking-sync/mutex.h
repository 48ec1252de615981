/*===- blocking-sync/mutex.h - Mutex functions for other primitives ------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_BLOCKING_SYNC_MUTEX_H
#define VFRIENDLY_BLOCKING_SYNC_MUTEX_H

#include "blocking-sync/parking.h"
#include "vfriendly/mutex.h"

/* Returns true if waiters for the mutex can be queued in this process. */
static inline bool vf_mutex_is_parkable(const vf_mutex *mutex) {
  return mutex->flags_ == 0;
}

/* Callback of type vf_may_move: turns waiters for a condition into waiters for
 * the mutex. */
bool vf_mutex_may_move(void *mutex, bool must);

/* Like vf_mutex_lock and vf_mutex_clocklock, with the call site as an argument
 * (sites.h). */
void vf_mutex_lock_at(vf_mutex *mutex, uintptr_t site);
int vf_mutex_clocklock_at(vf_mutex *mutex, clockid_t clock,
                          const struct timespec *at, uintptr_t site);

/* Acquires the mutex for a waiter that was moved to its queue and woken there.
 */
void vf_mutex_lock_moved(vf_mutex *mutex, struct vf_waiter *self,
                         enum vf_wake how, uintptr_t site);

#endif /* VFRIENDLY_BLOCKING_SYNC_MUTEX_H */

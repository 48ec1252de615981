/*===- preload/mutex.h - Mutex functions for conditions and C11 -----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A thread that waits for a condition still counts as a user of the mutex, as
 * in libc, so pthread_mutex_destroy fails with EBUSY.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PRELOAD_MUTEX_H
#define VFRIENDLY_PRELOAD_MUTEX_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Like pthread_mutex_lock and similar functions, with the call site as an
 * argument (common/sites.h). */
int vf_mutex_lock_at(pthread_mutex_t *mutex, uintptr_t site);
int vf_mutex_trylock_at(pthread_mutex_t *mutex, uintptr_t site);
int vf_mutex_timedlock_at(pthread_mutex_t *mutex, const struct timespec *at,
                          uintptr_t site);

/* Precondition of all functions below: vf_takes_over(mutex). */

/* Returns false if the mutex has an error-checking or recursive type and the
 * caller does not own it. */
bool vf_mutex_may_unlock(const pthread_mutex_t *mutex);

/* pre: vf_mutex_may_unlock(mutex). Releases one level of a recursive mutex. */
void vf_mutex_unlock_to_wait(pthread_mutex_t *mutex);

/* Like vf_mutex_lock_at; sets *had_to_wait if another thread held the mutex. */
int vf_mutex_lock_again(pthread_mutex_t *mutex, bool *had_to_wait,
                        uintptr_t site);

#endif /* VFRIENDLY_PRELOAD_MUTEX_H */

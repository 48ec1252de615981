/*===- vfriendly/sem.h - Counting semaphores ------------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   static vf_sem free_slots = VF_SEM_INIT(8);
 *   vf_sem_wait(&free_slots);
 *   ...
 *   vf_sem_post(&free_slots);
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SEM_H
#define VFRIENDLY_SEM_H

#include "vfriendly/mutex.h"
#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_sem {
  uint64_t word_;
  uint32_t flags_;
} vf_sem;

#define VF_SEM_MAX 0x7fffffffu
#define VF_SEM_INIT(value) {(value), 0}

/* Initializes a semaphore with `value` units. pre: *sem is not in use. Returns
 * EINVAL if value is above VF_SEM_MAX or flags is neither 0 nor VF_SHARED. */
int vf_sem_init(vf_sem *sem, unsigned flags, unsigned value);

/* Destroys the semaphore. pre: no thread waits for it. */
int vf_sem_destroy(vf_sem *sem);

/* Takes one unit; waits if there is none. */
int vf_sem_wait(vf_sem *sem);

/* Takes one unit if there is any; returns EAGAIN otherwise. */
int vf_sem_trywait(vf_sem *sem);

/* Takes one unit, but waits no longer than until the deadline. Returns
 * ETIMEDOUT and EINVAL as vf_mutex_clocklock does. */
int vf_sem_clockwait(vf_sem *sem, clockid_t clock,
                     const struct timespec *deadline);

/* Adds one unit. May be called in a signal handler. Returns EOVERFLOW if there
 * are VF_SEM_MAX already. Does not access *sem once the unit is added. */
int vf_sem_post(vf_sem *sem);

/* Returns the number of units, which may have changed meanwhile. */
unsigned vf_sem_value(const vf_sem *sem);

#ifdef __cplusplus
}
#endif

#endif /* VFRIENDLY_SEM_H */

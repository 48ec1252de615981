/*===- vfriendly/event.h - One thread tells others that something happened ===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   static vf_event ready = VF_EVENT_INIT;
 *   vf_event_wait(&ready);          // returns at once if already set
 *   ... and elsewhere: vf_event_set(&ready);
 *
 * A thread that has returned from vf_event_wait sees all memory that was
 * written before vf_event_set.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_EVENT_H
#define VFRIENDLY_EVENT_H

#include "vfriendly/mutex.h"
#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_event {
  uint32_t word_;
  uint32_t flags_;
} vf_event;

#define VF_EVENT_INIT {0, 0}

/* Initializes an event that is not set. pre: *event is not in use. Returns
 * EINVAL if flags is neither 0 nor VF_SHARED. */
int vf_event_init(vf_event *event, unsigned flags);

/* Destroys the event. pre: no thread waits for it. */
int vf_event_destroy(vf_event *event);

int vf_event_wait(vf_event *event);

/* Returns EAGAIN if the event is not set, and 0 otherwise. Never waits. */
int vf_event_trywait(vf_event *event);

/* Waits until the event is set, but no longer than until the deadline. Returns
 * ETIMEDOUT and EINVAL as vf_mutex_clocklock does. */
int vf_event_clockwait(vf_event *event, clockid_t clock,
                       const struct timespec *deadline);

/* Wakes all waiters, and lets later waits return at once. May be called in a
 * signal handler. Does not access *event once the event is set. */
int vf_event_set(vf_event *event);

/* Resets the event: threads that wait from now on block until it is set again.
 */
int vf_event_reset(vf_event *event);

#ifdef __cplusplus
}
#endif

#endif /* VFRIENDLY_EVENT_H */

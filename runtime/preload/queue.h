/*===- preload/queue.h - Queues of waiters for conditions -----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Waiters for libc's conditions, in the table of blocking-sync/parking_table.h.
 *
 * Waiters that use the same mutex form a chain. A broadcast wakes the first of
 * them. The others stay in the table, now queued for that mutex, where no
 * signal finds them. A waiter that was woken by a broadcast, directly or
 * through another waiter, must wake the next one (passes_on) after it has
 * acquired the mutex, however its wait ends. So as long as waiters are left for
 * a mutex, one thread is awake that will wake them: the bucket's lock protects
 * both this duty and the queue, and the duty ends only if there is no next
 * waiter.
 *
 * The wake-ups therefore happen one after another. If all threads need the
 * mutex only briefly, as at a barrier that consists of a condition, libc's
 * wake-up of all threads at once is faster (in streamcluster by a factor of
 * two). So if broadcasts of a condition find several waiters, its later waits
 * are left to libc, until it is signalled (cond.c). VF_PTHREAD_CROWDS=own keeps
 * them here, for tests.
 *
 * The functions of parking.h are not used here: their waiters move to the queue
 * of a lock, which libc's mutexes do not have, and cannot be cancelled while
 * they sleep. A forked child must have an empty table whichever function forked
 * it, so conditions are taken over only if vf_parking_prepare returns true.
 *
 * test/blocking-sync/models/preload-cond.pml models this with cond.c.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PRELOAD_QUEUE_H
#define VFRIENDLY_PRELOAD_QUEUE_H

#include "blocking-sync/parking_table.h"
#include "common/process_wide.h"
#include <stdbool.h>

struct vf_queued {
  struct vf_parked parked; /* For the condition, or the mutex after a broadcast.
                              The first member: queues are of these. */
  const void *mutex;
  /* Whether the woken thread has to wake others of the same broadcast. Written
   * before the state becomes WOKEN. */
  bool passes_on;
};

/* Queues self. Returns true if a waiter of the same condition is queued before
 * it. */
bool vf_queue_enter(struct vf_queued *self, const void *cond,
                    const void *mutex);

enum vf_left {
  VF_LEFT_WAITING,  /* no other thread had woken the waiter */
  VF_LEFT_SIGNALED, /* a broadcast had chosen the waiter, but had not woken it
                       yet */
  VF_LEFT_WOKEN
};

/* Removes self from the queue after a timeout or a cancellation. pre: self
 * entered the queue. Afterwards self is in no queue. */
enum vf_left vf_queue_leave(struct vf_queued *self, const void *cond);

/* Wakes one waiter. Returns false if there is none. Misses no waiter whose
 * entry happens before this call. */
bool vf_queue_wake_one(const void *cond);

void vf_queue_wake_all(const void *cond);

/* Closes the queue for good: libc's own functions may signal from now on
 * (views.c). Wakes all waiters of all conditions, as if each had been
 * signalled: those whose condition was not signalled wake up without cause. */
void vf_queue_close(void);

extern VF_HIDDEN uint32_t vf_queue_closed;

/* A waiter must ask again after it has entered: either it sees then that the
 * queue is closed, or vf_queue_close finds the waiter. */
static inline bool vf_queue_is_closed(void) {
  return __builtin_expect(
      __atomic_load_n(&vf_queue_closed, __ATOMIC_RELAXED) != 0, 0);
}

/* Returns true if the last broadcast that found waiters in the queue found
 * several, and no signal has come since. A wrong answer only costs time. */
bool vf_queue_draws_crowds(const void *cond);

/* Wakes the next n waiters of the broadcast. pre: the caller was WOKEN with
 * passes_on set. */
void vf_queue_pass_on(const void *cond, const void *mutex, int n);

#endif /* VFRIENDLY_PRELOAD_QUEUE_H */

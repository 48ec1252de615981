/*===- blocking-sync/parking.h - Queues of sleeping threads, by address ---===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Threads that wait for a lock or a condition of libvfrt sleep here. The queues
 * are in a table outside of the locks, so a lock is one word, and an unlocking
 * thread need not access it again once it is free. (The design follows WebKit's
 * WTF::ParkingLot.)
 *
 *   waiter                        unlocker
 *   P1 lock the address's bucket  U1 lock the bucket
 *   P2 still to wait? else leave  U2 take out the first waiter, decide
 *   P3 queue, unlock the bucket      what the word becomes, store it
 *   P4 sleep on one's own word    U3 unlock the bucket
 *                                 U4 wake that waiter
 *
 * The word and the queue change together, under the bucket's lock: no wake-up
 * is lost, and none goes to a thread that is not queued. parking_table.h has
 * the queues, and how P4 and U4 find each other.
 *
 * A forked child starts with an empty table. Words of locks may still indicate
 * parked threads; U2 then finds none and corrects the word.
 *
 * test/blocking-sync/models: mutex.pml, cond.pml and, in a child, fork.pml
 * model this.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_BLOCKING_SYNC_PARKING_H
#define VFRIENDLY_BLOCKING_SYNC_PARKING_H

#include "blocking-sync/parking_table.h"
#include <stdbool.h>
#include <stdint.h>

enum vf_wake {
  VF_WAKE_NONE,                    /* leave the waiter parked */
  VF_WAKE_RETRY = VF_PARKED_WOKEN, /* try again: the lock may be available */
  VF_WAKE_HANDED,  /* the lock was handed to this waiter alone */
  VF_WAKE_INVALID, /* validate returned false: the thread did not wait */
  VF_WAKE_LOOKED,  /* look returned true: the thread stopped waiting */
  VF_WAKE_TIMEOUT
};

/* A waiting thread, allocated on that thread's stack. All fields are written
 * under the bucket's lock. */
struct vf_waiter {
  struct vf_parked parked; /* The first member: queues link these. */
  /* Time at which the thread was first queued for the lock; 0 until then. */
  uint64_t since;
  /* The lock that a waiter for a condition takes once it is signalled. */
  void *lock;
  bool was_moved;
};

/* Called under the bucket's lock: returns true if the thread must wait. */
typedef bool vf_validate(void *what, struct vf_waiter *self);

/* Called without the bucket's lock by a thread that has slept for VF_LOOK_NS,
 * and again whenever its wait has doubled: returns true if it must stop
 * waiting. */
typedef bool vf_look(void *what);

/* Sleeps until another thread takes self out of key's queue, or until the
 * deadline. before_sleep, which may be null, runs when self is queued and the
 * bucket unlocked; look may be null.
 *
 * A thread that has been queued for the same object before (since != 0) is
 * queued at the front. */
enum vf_wake vf_park(struct vf_waiter *self, const void *key,
                     vf_validate *validate, void (*before_sleep)(void *what),
                     vf_look *look, void *what,
                     const struct vf_deadline *deadline);

/* Called under the bucket's lock: decides how the first waiter wakes;
 * VF_WAKE_NONE leaves it queued. `first` is null if there is no waiter; `more`
 * is true if others follow it. */
typedef enum vf_wake vf_decide(void *what, const struct vf_waiter *first,
                               bool more);

/* Wakes the first waiter for key in the way that decide returns. Returns true
 * if a waiter was woken. */
bool vf_unpark_one(const void *key, vf_decide *decide, void *what);

/* Callback that tells whether waiters for a condition may be queued for the
 * lock instead of being woken. Called under both buckets' locks. Before it
 * returns true, it makes sure that the lock's next unlock examines the queue.
 * If `must` is true, it has to return true. */
typedef bool vf_may_move(void *lock, bool must);

/* Moves the waiters for key to the queues of the locks that they take next. If
 * may_move refuses the first waiter for a lock, wakes that waiter and moves the
 * other waiters for the lock. Calls done(what, left) while key's bucket is
 * locked; left tells whether waiters for key remain. */
void vf_unpark_all(const void *key, vf_may_move *may_move,
                   void (*done)(void *what, bool left), void *what);

#endif /* VFRIENDLY_BLOCKING_SYNC_PARKING_H */

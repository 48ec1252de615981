/*===- blocking-sync/parking_table.h - Queues of threads, by address ------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * One table for all threads of a process that wait for a lock or a condition of
 * libvfrt (parking.c) or of libvfpthread (preload/queue.c). A waiting thread
 * queues a struct vf_parked, which is on its own stack, in the bucket to which
 * the address of the lock or condition hashes. This code never accesses the
 * lock or condition itself, which may therefore be freed as soon as its waiters
 * are woken.
 *
 *   waiter                               waker
 *   Q1 lock the bucket, append self,     K1 lock the bucket, take a waiter out
 *      state AWAKE, unlock it            K2 state <- WOKEN or above (release)
 *   Q2 perhaps spin on state             K3 unlock the bucket
 *   Q3 state AWAKE -> ASLEEP             K4 if K2 replaced ASLEEP: wake the
 *   Q4 sleep on state while ASLEEP          futex `state`
 *   Q5 state >= WOKEN? else to Q4
 *
 * What the code relies on:
 *
 *  - Everything in a bucket, and the fields of the waiters in it, are read and
 *    written under its lock. Two exceptions are atomic: `state`, and `first`,
 *    which vf_bucket_is_empty reads.
 *  - Q3 is a compare-and-swap and K2 an exchange, so either Q3 fails, or K2
 * sees ASLEEP and K4 follows. The kernel compares the word before it sleeps
 * (Q4), so K4 may come before Q4.
 *  - K2 is the last access to the waiter by another thread: its owner may
 * return from then on. K4 uses the address as a key only and may wake a later
 * user of that stack, so every sleep on such a word is a loop.
 *  - A waiter that leaves by itself (a deadline, a cancellation) takes the
 *    bucket's lock and looks at its state: it is in the queue exactly while the
 *    state is below WOKEN.
 *  - A key may change under the locks of the old and the new key's bucket only,
 *    which may be the same one.
 *  - No word of the table is written by all wakers: what they write are
 * buckets, each with a cache line of its own, and waiters.
 *
 * A forked child has the parent's memory but not its waiters. The kernel gives
 * it an empty table (MADV_WIPEONFORK), whichever function forked it. Where the
 * kernel cannot, a fork handler does this, which _Fork does not run. If a
 * signal handler interrupts a wait and forks, it must not return to that wait
 * in the child.
 *
 * test/blocking-sync/models: preload-cond.pml has Q1 to Q5 and K1 to K4, the
 * models of parking.h the queues above them; orders.py runs this file.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_BLOCKING_SYNC_PARKING_TABLE_H
#define VFRIENDLY_BLOCKING_SYNC_PARKING_TABLE_H

#include "common/plain_lock.h"
#include "common/process_wide.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum vf_parked_state {
  VF_PARKED_AWAKE,  /* queued, and not asleep yet */
  VF_PARKED_ASLEEP, /* queued, and the waker must call the kernel */
  VF_PARKED_WOKEN   /* in no queue. The user may define larger values. */
};

/* A waiting thread. Zero-initialized by its owner. */
struct vf_parked {
  struct vf_parked *before, *next;
  const void *key;
  /* Time at which the thread was woken, for vf_woke_since; 0 if the waker did
   * not find it asleep. */
  uint64_t woken_at;
  uint32_t state; /* enum vf_parked_state */
  /* Nonzero for waiters of libvfpthread, whose struct is a vf_queued. */
  uint32_t is_libcs;
};

struct vf_bucket {
  uint32_t lock;
  /* Used by preload/queue.c: nonzero if the last broadcast to any condition in
   * this bucket found several waiters. */
  uint32_t draws_crowds;
  struct vf_parked *first, *last;
} __attribute__((aligned(VF_CACHE_LINE)));

/* Makes forked children start with an empty table. Returns false if the kernel
 * cannot do so; then a handler empties the table in children of fork, but not
 * in children created in other ways. May be called any number of times. */
bool vf_parking_prepare(void);

/* Returns a number that differs between a process and the one that forked it,
 * even modulo 2^16. What a lock has recorded about threads is valid only in a
 * process with the same number. */
uint32_t vf_generation(void);

struct vf_bucket *vf_bucket_of(const void *key);

static inline struct vf_bucket *vf_bucket_lock(const void *key) {
  struct vf_bucket *bucket = vf_bucket_of(key);
  vf_plain_lock(&bucket->lock);
  return bucket;
}

static inline void vf_bucket_unlock(struct vf_bucket *bucket) {
  vf_plain_unlock(&bucket->lock, VF_PRIVATE);
}

/* Returns true if no thread waits in the bucket. Makes a single load, without
 * the bucket's lock. Misses no waiter whose entry happens before this call. */
static inline bool vf_bucket_is_empty(const struct vf_bucket *bucket) {
  return __atomic_load_n(&bucket->first, __ATOMIC_RELAXED) == NULL;
}

/* The functions below require the bucket's lock, except vf_bucket_lock_nth. */

/* Returns the first waiter for key at or after `from`, or null. */
static inline struct vf_parked *vf_bucket_find(struct vf_parked *from,
                                               const void *key) {
  while (from && from->key != key)
    from = from->next;
  return from;
}

/* Returns bucket `number`, locked; null if there are not so many. */
struct vf_bucket *vf_bucket_lock_nth(uint32_t number);

void vf_bucket_append(struct vf_bucket *bucket, struct vf_parked *waiter);
void vf_bucket_prepend(struct vf_bucket *bucket, struct vf_parked *waiter);
void vf_bucket_take_out(struct vf_bucket *bucket, struct vf_parked *waiter);

/* Wakes a waiter that was taken out of its bucket: sets its state to `state`,
 * which is VF_PARKED_WOKEN or above. Returns the futex word that the caller
 * must wake after it unlocks the bucket, or null if the waiter does not sleep.
 */
uint32_t *vf_parked_wake(struct vf_parked *waiter, uint32_t state);

/* The functions below are for the waiter itself, without a lock. */

static inline uint32_t vf_parked_state(const struct vf_parked *self) {
  return __atomic_load_n(&self->state, __ATOMIC_ACQUIRE);
}

/* Returns false if the waiter has been woken. */
static inline bool vf_parked_fall_asleep(struct vf_parked *self) {
  uint32_t awake = VF_PARKED_AWAKE;
  return __atomic_compare_exchange_n(&self->state, &awake, VF_PARKED_ASLEEP,
                                     false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED) ||
         awake == VF_PARKED_ASLEEP;
}

#endif /* VFRIENDLY_BLOCKING_SYNC_PARKING_TABLE_H */

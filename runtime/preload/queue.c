/*===- preload/queue.c - Who waits for a condition ------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *===----------------------------------------------------------------------===*/

#include "preload/queue.h"
#include "common/hash.h"
#include "common/plain_lock.h"
#include "common/process_wide.h"
#include "preload/statistics.h"
#include <stddef.h>
#include <sys/mman.h>

/* log2 of the number of buckets: as many as in the table of
 * blocking-sync/parking.c, for the same reason. */
#define BUCKETS_LOG2 8
/* Page size on x86-64. The kernel clears memory on fork in whole pages. */
#define PAGE 4096

struct bucket {
  uint32_t lock;
  struct vf_queued *first, *last;
  /* Whether the last broadcast found several waiters. All conditions of the
   * bucket share it. */
  uint32_t draws_crowds;
} __attribute__((aligned(VF_CACHE_LINE)));

static struct bucket buckets[1u << BUCKETS_LOG2] __attribute__((aligned(PAGE)));
_Static_assert(sizeof buckets % PAGE == 0, "nothing else is on these pages");

bool vf_queues_prepare(void) {
  return madvise(buckets, sizeof buckets, MADV_WIPEONFORK) == 0;
}

static struct bucket *bucket_of(const void *cond) {
  return &buckets[vf_hash(cond, BUCKETS_LOG2)];
}

static void unlock(struct bucket *bucket) {
  vf_plain_unlock(&bucket->lock, VF_PRIVATE);
}

static struct vf_queued *find(struct vf_queued *from, const void *key) {
  while (from && from->key != key)
    from = from->next;
  return from;
}

/* Atomic store, because is_empty reads the link without the lock. */
static void set(struct vf_queued **link, struct vf_queued *waiter) {
  __atomic_store_n(link, waiter, __ATOMIC_RELAXED);
}

static void append(struct bucket *bucket, struct vf_queued *waiter) {
  waiter->before = bucket->last;
  waiter->next = NULL;
  set(waiter->before ? &waiter->before->next : &bucket->first, waiter);
  bucket->last = waiter;
}

static void take_out(struct bucket *bucket, struct vf_queued *waiter) {
  set(waiter->before ? &waiter->before->next : &bucket->first, waiter->next);
  *(waiter->next ? &waiter->next->before : &bucket->last) = waiter->before;
}

/* Returns the word to wake in the kernel once the bucket is unlocked, or null.
 * Its owner may have returned by then: the address is only a key and is not
 * read. */
static uint32_t *take_to_wake(struct bucket *bucket, struct vf_queued *waiter,
                              bool passes_on) {
  take_out(bucket, waiter);
  waiter->passes_on = passes_on;
  uint32_t *state = &waiter->state;
  /* Stores the wake-up time only for a waiter that sleeps by now. One that is
   * just falling asleep gets none: reading its state again would cost more than
   * the measurement is worth. */
  if (vf_get(state) == VF_QUEUED_ASLEEP)
    waiter->woken_at = vf_now_ns();
  bool asleep = __atomic_exchange_n(state, VF_QUEUED_WOKEN, __ATOMIC_RELEASE) ==
                VF_QUEUED_ASLEEP;
  return asleep ? state : NULL;
}

static void unlock_and_wake(struct bucket *bucket, uint32_t *state) {
  unlock(bucket);
  if (!state)
    return;
  vf_count_preload(VF_PRELOAD_COND_WAKES);
  vf_futex_wake(state, 1, VF_PRIVATE);
}

bool vf_queue_enter(struct vf_queued *self, const void *cond,
                    const void *mutex) {
  struct bucket *bucket = bucket_of(cond);
  *self = (struct vf_queued){.key = cond, .mutex = mutex};
  vf_plain_lock(&bucket->lock);
  bool behind = find(bucket->first, cond) != NULL;
  append(bucket, self);
  unlock(bucket);
  return behind;
}

enum vf_left vf_queue_leave(struct vf_queued *self, const void *cond) {
  struct bucket *bucket = bucket_of(cond);
  enum vf_left left = VF_LEFT_WOKEN;
  vf_plain_lock(&bucket->lock);
  if (vf_get(&self->state) != VF_QUEUED_WOKEN) {
    left = self->key == cond ? VF_LEFT_WAITING : VF_LEFT_SIGNALED;
    take_out(bucket, self);
  }
  unlock(bucket);
  return left;
}

/* Returns true if no thread waits, with a single load. It sees waiters that
 * entered before an event that happened before this call; it may miss others,
 * as libc may. */
static bool is_empty(const struct bucket *bucket) {
  return __atomic_load_n(&bucket->first, __ATOMIC_RELAXED) == NULL;
}

static bool wake_first(struct bucket *bucket, const void *key, bool passes_on) {
  vf_plain_lock(&bucket->lock);
  struct vf_queued *first = find(bucket->first, key);
  unlock_and_wake(bucket,
                  first ? take_to_wake(bucket, first, passes_on) : NULL);
  return first != NULL;
}

bool vf_queue_wake_one(const void *cond) {
  struct bucket *bucket = bucket_of(cond);
  if (vf_get(&bucket->draws_crowds) != 0)
    vf_set(&bucket->draws_crowds, 0);
  return !is_empty(bucket) && wake_first(bucket, cond, /*passes_on=*/false);
}

void vf_queue_wake_all(const void *cond) {
  struct bucket *bucket = bucket_of(cond);
  if (is_empty(bucket))
    return;
  bool more = true; /* Each iteration handles the waiters with one mutex. */
  while (more) {
    vf_plain_lock(&bucket->lock);
    struct vf_queued *first = find(bucket->first, cond);
    more = false;
    if (!first) {
      unlock(bucket);
      return;
    }
    const void *mutex = first->mutex;
    vf_set(&bucket->draws_crowds, find(first->next, cond) != NULL);
    for (struct vf_queued *other = find(first->next, cond); other;
         other = find(other->next, cond)) {
      if (other->mutex == mutex)
        other->key = mutex;
      else
        more = true;
    }
    unlock_and_wake(bucket, take_to_wake(bucket, first, /*passes_on=*/true));
  }
}

bool vf_queue_draws_crowds(const void *cond) {
  return vf_get(&bucket_of(cond)->draws_crowds) != 0;
}

void vf_queue_pass_on(const void *cond, const void *mutex, int n) {
  struct bucket *bucket = bucket_of(cond);
  while (n-- > 0 && wake_first(bucket, mutex, /*passes_on=*/true))
    ;
}

/*===- preload/queue.c - Queues of waiters for conditions -----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "preload/queue.h"
#include "preload/statistics.h"
#include <stddef.h>

static struct vf_queued *queued_of(struct vf_parked *parked) {
  return (struct vf_queued *)parked;
}

/* Takes the waiter out of the bucket and marks it as woken. Returns the futex
 * word that the caller must wake after it unlocks the bucket, or null if the
 * waiter does not sleep. */
static uint32_t *take_to_wake(struct vf_bucket *bucket,
                              struct vf_parked *waiter, bool passes_on) {
  vf_bucket_take_out(bucket, waiter);
  queued_of(waiter)->passes_on = passes_on;
  return vf_parked_wake(waiter, VF_PARKED_WOKEN);
}

static void unlock_and_wake(struct vf_bucket *bucket, uint32_t *asleep) {
  vf_bucket_unlock(bucket);
  if (!asleep)
    return;
  vf_count_preload(VF_PRELOAD_COND_WAKES);
  vf_futex_wake(asleep, 1, VF_PRIVATE);
}

bool vf_queue_enter(struct vf_queued *self, const void *cond,
                    const void *mutex) {
  *self = (struct vf_queued){.parked = {.key = cond, .is_libcs = 1},
                             .mutex = mutex};
  struct vf_bucket *bucket = vf_bucket_lock(cond);
  bool behind = vf_bucket_find(bucket->first, cond) != NULL;
  vf_bucket_append(bucket, &self->parked);
  vf_bucket_unlock(bucket);
  return behind;
}

enum vf_left vf_queue_leave(struct vf_queued *self, const void *cond) {
  struct vf_bucket *bucket = vf_bucket_lock(cond);
  enum vf_left left = VF_LEFT_WOKEN;
  if (vf_parked_state(&self->parked) != VF_PARKED_WOKEN) {
    left = self->parked.key == cond ? VF_LEFT_WAITING : VF_LEFT_SIGNALED;
    vf_bucket_take_out(bucket, &self->parked);
  }
  vf_bucket_unlock(bucket);
  return left;
}

static bool wake_first(const void *cond, const void *key, bool passes_on) {
  struct vf_bucket *bucket = vf_bucket_lock(cond);
  struct vf_parked *first = vf_bucket_find(bucket->first, key);
  unlock_and_wake(bucket,
                  first ? take_to_wake(bucket, first, passes_on) : NULL);
  return first != NULL;
}

bool vf_queue_wake_one(const void *cond) {
  struct vf_bucket *bucket = vf_bucket_of(cond);
  if (vf_get(&bucket->draws_crowds) != 0)
    vf_set(&bucket->draws_crowds, 0);
  /* This test does not take the lock of the bucket, so it may miss a waiter
   * that is just being queued. So may libc's pthread_cond_signal. */
  return !vf_bucket_is_empty(bucket) &&
         wake_first(cond, cond, /*passes_on=*/false);
}

void vf_queue_wake_all(const void *cond) {
  if (vf_bucket_is_empty(vf_bucket_of(cond)))
    return;
  bool more = true; /* Each iteration handles one mutex's waiters. */
  while (more) {
    struct vf_bucket *bucket = vf_bucket_lock(cond);
    struct vf_parked *first = vf_bucket_find(bucket->first, cond);
    more = false;
    if (!first) {
      vf_bucket_unlock(bucket);
      return;
    }
    const void *mutex = queued_of(first)->mutex;
    struct vf_parked *other = vf_bucket_find(first->next, cond);
    vf_set(&bucket->draws_crowds, other != NULL);
    for (; other; other = vf_bucket_find(other->next, cond)) {
      if (queued_of(other)->mutex == mutex)
        other->key = mutex; /* Leaves it in the condition's bucket. */
      else
        more = true;
    }
    unlock_and_wake(bucket, take_to_wake(bucket, first, /*passes_on=*/true));
  }
}

uint32_t vf_queue_closed;

void vf_queue_close(void) {
  struct vf_bucket *bucket;
  if (__atomic_exchange_n(&vf_queue_closed, 1, __ATOMIC_RELAXED) != 0)
    return;
  for (uint32_t i = 0; (bucket = vf_bucket_lock_nth(i)) != NULL; ++i) {
    struct vf_parked *next, *each = bucket->first;
    for (; each; each = next) {
      next = each->next;
      uint32_t *asleep = each->is_libcs
                             ? take_to_wake(bucket, each, /*passes_on=*/false)
                             : NULL;
      if (asleep)
        vf_futex_wake(asleep, 1, VF_PRIVATE);
    }
    vf_bucket_unlock(bucket);
  }
}

bool vf_queue_draws_crowds(const void *cond) {
  return vf_get(&vf_bucket_of(cond)->draws_crowds) != 0;
}

void vf_queue_pass_on(const void *cond, const void *mutex, int n) {
  while (n-- > 0 && wake_first(cond, mutex, /*passes_on=*/true))
    ;
}

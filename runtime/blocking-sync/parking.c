/*===- blocking-sync/parking.c - Queues of sleeping threads, by address ---===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "blocking-sync/parking.h"
#include "common/plain_lock.h"
#include "spin-wait/tuning.h"
#include <stddef.h>

/* Time after which a parked thread first calls its vf_look callback to check
 * whether it must go on waiting: about three time slices, in which a holder
 * that was preempted has run. The check needs a wake-up of 25 to 100 us in a
 * virtual machine, at most a hundredth of this time. */
#define VF_LOOK_NS 10000000u

/* Runs early, so that in a child without MADV_WIPEONFORK the table is reset
 * before any other fork handler takes a lock; but after it is known where the
 * table is (process_wide.c). */
__attribute__((constructor(102))) static void prepare(void) {
  vf_parking_prepare();
}

/* Locks both buckets. All threads lock them in the order of addresses, so there
 * is no deadlock. The two may be the same. */
static void lock_both(struct vf_bucket *a, struct vf_bucket *b) {
  vf_plain_lock(a < b ? &a->lock : &b->lock);
  if (a != b)
    vf_plain_lock(a < b ? &b->lock : &a->lock);
}

static void unlock_both(struct vf_bucket *a, struct vf_bucket *b) {
  vf_bucket_unlock(a);
  if (a != b)
    vf_bucket_unlock(b);
}

static struct vf_waiter *waiter_of(struct vf_parked *parked) {
  return (struct vf_waiter *)parked;
}

static bool is_woken(const struct vf_waiter *waiter) {
  return vf_parked_state(&waiter->parked) >= VF_PARKED_WOKEN;
}

/* Removes self from the queue it is in. Returns false if another thread has
 * already done so. */
static bool leave(struct vf_waiter *self) {
  for (;;) {
    const void *key = __atomic_load_n(&self->parked.key, __ATOMIC_RELAXED);
    struct vf_bucket *bucket = vf_bucket_lock(key);
    bool queued = !is_woken(self);
    bool here = __atomic_load_n(&self->parked.key, __ATOMIC_RELAXED) == key;
    if (queued && here)
      vf_bucket_take_out(bucket, &self->parked);
    vf_bucket_unlock(bucket);
    if (!queued || here)
      return queued;
  }
}

/* Computes the time at which a waiter that has waited since `since` must next
 * call its vf_look callback, and stores this time, on the clock of the
 * deadline, in *next. Returns false if the deadline is earlier. */
static bool looks_first(struct vf_deadline *next, uint64_t since, uint64_t now,
                        const struct vf_deadline *deadline) {
  uint64_t ns = now - since > VF_LOOK_NS ? now - since : VF_LOOK_NS;
  next->clock = CLOCK_MONOTONIC;
  next->at = (struct timespec){(time_t)(now / 1000000000),
                               (long)(now % 1000000000 + ns % 1000000000)};
  if (deadline && deadline->clock != CLOCK_MONOTONIC) {
    next->clock = deadline->clock;
    clock_gettime(next->clock, &next->at);
    next->at.tv_nsec += (long)(ns % 1000000000);
  }
  next->at.tv_sec +=
      (time_t)(ns / 1000000000) + (next->at.tv_nsec >= 1000000000);
  next->at.tv_nsec %= 1000000000;
  return !deadline || next->at.tv_sec < deadline->at.tv_sec ||
         (next->at.tv_sec == deadline->at.tv_sec &&
          next->at.tv_nsec < deadline->at.tv_nsec);
}

enum vf_wake vf_park(struct vf_waiter *self, const void *key,
                     vf_validate *validate, void (*before_sleep)(void *),
                     vf_look *look, void *what,
                     const struct vf_deadline *deadline) {
  struct vf_parked *parked = &self->parked;
  struct vf_bucket *bucket = vf_bucket_lock(key);
  if (!validate(what, self)) {
    vf_bucket_unlock(bucket);
    return VF_WAKE_INVALID;
  }
  __atomic_store_n(&parked->key, key, __ATOMIC_RELAXED);
  __atomic_store_n(&parked->state, VF_PARKED_AWAKE, __ATOMIC_RELAXED);
  parked->woken_at = 0;
  self->was_moved = false;
  uint64_t now = vf_now_ns();
  if (self->since == 0) {
    self->since = now;
    vf_bucket_append(bucket, parked);
  } else {
    vf_bucket_prepend(bucket, parked);
  }
  vf_bucket_unlock(bucket);

  if (before_sleep)
    before_sleep(what);
  struct vf_deadline next;
  bool looks = look && looks_first(&next, self->since, now, deadline);
  while (!is_woken(self)) {
    if (!vf_parked_fall_asleep(parked) ||
        vf_futex_wait_until(&parked->state, VF_PARKED_ASLEEP,
                            looks ? &next : deadline, VF_PRIVATE) != ETIMEDOUT)
      continue;
    if ((!looks || look(what)) && leave(self))
      return looks ? VF_WAKE_LOOKED : VF_WAKE_TIMEOUT;
    if (looks)
      looks = looks_first(&next, self->since, vf_now_ns(), deadline);
  }
  if (parked->woken_at != 0)
    vf_woke_since(parked->woken_at);
  return (enum vf_wake)parked->state;
}

bool vf_unpark_one(const void *key, vf_decide *decide, void *what) {
  struct vf_bucket *bucket = vf_bucket_lock(key);
  struct vf_parked *first = vf_bucket_find(bucket->first, key);
  bool more = first && vf_bucket_find(first->next, key);
  enum vf_wake how = decide(what, first ? waiter_of(first) : NULL, more);
  bool wakes = first && how != VF_WAKE_NONE;
  uint32_t *asleep = NULL;
  if (wakes) {
    vf_bucket_take_out(bucket, first);
    asleep = vf_parked_wake(first, how);
  }
  vf_bucket_unlock(bucket);
  if (asleep)
    vf_futex_wake(asleep, 1, VF_PRIVATE);
  return wakes;
}

/* Takes the waiters for key out of their queue, up to the first waiter that
 * wants another lock than `lock`. Appends each of them to the queue of `lock`
 * if may_move allows that. Returns the waiters that may_move refused as a list
 * linked by `next`; the caller must wake them. */
static struct vf_parked *move(struct vf_bucket *from, struct vf_bucket *to,
                              const void *key, void *lock,
                              vf_may_move *may_move) {
  struct vf_parked *woken = NULL;
  struct vf_parked *next, *parked = vf_bucket_find(from->first, key);
  uint64_t now = vf_now_ns();
  for (; parked && waiter_of(parked)->lock == lock; parked = next) {
    struct vf_waiter *waiter = waiter_of(parked);
    next = vf_bucket_find(parked->next, key);
    vf_bucket_take_out(from, parked);
    if (lock && may_move(lock, /*must=*/woken != NULL)) {
      waiter->was_moved = true;
      waiter->since = now; /* From now on the thread waits for the lock. */
      __atomic_store_n(&parked->key, lock, __ATOMIC_RELAXED);
      vf_bucket_append(to, parked);
    } else {
      parked->next = woken;
      woken = parked;
    }
  }
  return woken;
}

void vf_unpark_all(const void *key, vf_may_move *may_move,
                   void (*done)(void *what, bool left), void *what) {
  struct vf_bucket *from = vf_bucket_of(key);
  bool left = true;
  while (left) {
    vf_plain_lock(&from->lock);
    struct vf_parked *first = vf_bucket_find(from->first, key);
    void *lock = first ? waiter_of(first)->lock : NULL;
    vf_bucket_unlock(from);

    struct vf_bucket *to = lock ? vf_bucket_of(lock) : from;
    lock_both(from, to);
    struct vf_parked *woken = move(from, to, key, lock, may_move);
    left = vf_bucket_find(from->first, key) != NULL;
    /* Calls done before any waiter is woken, as a woken thread may free *what.
     */
    done(what, left);
    uint32_t *asleep = NULL;
    while (woken) {
      struct vf_parked *parked = woken;
      woken = parked->next;
      if (asleep)
        vf_futex_wake(asleep, 1, VF_PRIVATE);
      asleep = vf_parked_wake(parked, VF_WAKE_RETRY);
    }
    unlock_both(from, to);
    if (asleep)
      vf_futex_wake(asleep, 1, VF_PRIVATE);
  }
}

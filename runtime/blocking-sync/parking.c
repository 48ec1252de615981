/*===- blocking-sync/parking.c - Threads asleep, by address ---------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *===----------------------------------------------------------------------===*/

#include "blocking-sync/parking.h"
#include "common/hash.h"
#include "common/plain_lock.h"
#include "common/process_wide.h"
#include "spin-wait/tuning.h"
#include <pthread.h>
#include <stddef.h>

/* log2 of the number of buckets. Objects that share a bucket make each other's
 * queue operations longer. 256 are more than the CPUs of most machines, and
 * only the lines that are used occupy memory. */
#define VF_PARKING_LOG2 8
#define VF_PARKING_BUCKETS (1u << VF_PARKING_LOG2)

/* Time after which a parked thread first checks whether it must go on waiting:
 * three time slices, in which a preempted holder has run. A check needs a
 * wake-up of 25 to 100 us in a virtual machine, at most a hundredth of this
 * time. */
#define VF_LOOK_NS 10000000u

struct vf_bucket {
  uint32_t lock;
  struct vf_waiter *first;
} __attribute__((aligned(VF_CACHE_LINE)));

/* Shared by all copies of libvfrt in a process: a lock may be taken through one
 * copy and released through another. A copy with hidden symbols has a table of
 * its own and must not share locks with other copies, as a waiter in one table
 * is not found in the other. */
struct vf_parking {
  uint32_t registered; /* set by the fork handler of the first copy */
  uint32_t generation;
  struct vf_bucket buckets[VF_PARKING_BUCKETS];
};

#define VF_PARKING_SIZE 16448
VF_PROCESS_WIDE(vf_parking_1, VF_PARKING_SIZE);
_Static_assert(sizeof(struct vf_parking) == VF_PARKING_SIZE,
               "VF_PARKING_SIZE is what the assembler reserves");
extern VF_API struct vf_parking vf_parking_1;

uint32_t vf_generation(void) {
  return __atomic_load_n(&vf_parking_1.generation, __ATOMIC_RELAXED);
}

/* Resets the table in the child process after a fork: the child has a single
 * thread, so no bucket is locked and no waiter is queued. */
static void start_anew(void) {
  __atomic_fetch_add(&vf_parking_1.generation, 1, __ATOMIC_RELAXED);
  for (unsigned i = 0; i < VF_PARKING_BUCKETS; ++i) {
    vf_parking_1.buckets[i].lock = VF_FREE;
    vf_parking_1.buckets[i].first = NULL;
  }
}

/* Runs early, so that in a child the table is reset before any other fork
 * handler takes a lock. Priorities up to 100 are reserved for the compiler. */
__attribute__((constructor(101))) static void watch_forks(void) {
  if (__atomic_exchange_n(&vf_parking_1.registered, 1, __ATOMIC_RELAXED) == 0)
    pthread_atfork(NULL, NULL, start_anew);
}

static struct vf_bucket *bucket_of(const void *key) {
  return &vf_parking_1.buckets[vf_hash(key, VF_PARKING_LOG2)];
}

static struct vf_bucket *lock_bucket(const void *key) {
  struct vf_bucket *bucket = bucket_of(key);
  vf_plain_lock(&bucket->lock);
  return bucket;
}

static void unlock_bucket(struct vf_bucket *bucket) {
  vf_plain_unlock(&bucket->lock, VF_PRIVATE);
}

/* Locks both buckets. All threads lock them in the order of addresses, so there
 * is no deadlock. The two may be the same. */
static void lock_both(struct vf_bucket *a, struct vf_bucket *b) {
  vf_plain_lock(a < b ? &a->lock : &b->lock);
  if (a != b)
    vf_plain_lock(a < b ? &b->lock : &a->lock);
}

static void unlock_both(struct vf_bucket *a, struct vf_bucket *b) {
  unlock_bucket(a);
  if (a != b)
    unlock_bucket(b);
}

/* Starts at the given link of a queue. Returns the link to the first waiter for
 * key, or the null link at the end. */
static struct vf_waiter **find(struct vf_waiter **link, const void *key) {
  while (*link && (*link)->key != key)
    link = &(*link)->next;
  return link;
}

static struct vf_waiter **end_of(struct vf_bucket *bucket) {
  struct vf_waiter **link = &bucket->first;
  while (*link)
    link = &(*link)->next;
  return link;
}

/* Wakes the waiter. This is the last access to it, as its owner may return at
 * once. */
static void set_woken(struct vf_waiter *waiter, enum vf_wake how) {
  waiter->woken_at = vf_now_ns();
  __atomic_store_n(&waiter->woken, (uint32_t)how, __ATOMIC_RELEASE);
}

static enum vf_wake woken(const struct vf_waiter *waiter) {
  return (enum vf_wake)__atomic_load_n(&waiter->woken, __ATOMIC_ACQUIRE);
}

/* Removes self from the queue it is in. Returns false if another thread has
 * already done so. */
static bool leave(struct vf_waiter *self) {
  for (;;) {
    const void *key = __atomic_load_n(&self->key, __ATOMIC_RELAXED);
    struct vf_bucket *bucket = lock_bucket(key);
    bool queued = woken(self) == VF_WAKE_NONE;
    bool here = __atomic_load_n(&self->key, __ATOMIC_RELAXED) == key;
    if (queued && here) {
      struct vf_waiter **link = &bucket->first;
      while (*link != self)
        link = &(*link)->next;
      *link = self->next;
    }
    unlock_bucket(bucket);
    if (!queued || here)
      return queued;
  }
}

/* Computes when a waiter that has waited since `since` must next look at its
 * object, on the deadline's clock, and stores that in *next. Returns false if
 * the deadline is earlier. */
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
  struct vf_bucket *bucket = lock_bucket(key);
  if (!validate(what, self)) {
    unlock_bucket(bucket);
    return VF_WAKE_INVALID;
  }
  __atomic_store_n(&self->key, key, __ATOMIC_RELAXED);
  __atomic_store_n(&self->woken, (uint32_t)VF_WAKE_NONE, __ATOMIC_RELAXED);
  self->was_moved = false;
  uint64_t now = vf_now_ns();
  if (self->since == 0) {
    self->since = now;
    self->next = NULL;
    *end_of(bucket) = self;
  } else {
    self->next = bucket->first;
    bucket->first = self;
  }
  unlock_bucket(bucket);

  if (before_sleep)
    before_sleep(what);
  enum vf_wake how;
  bool slept = false;
  struct vf_deadline next;
  bool looks = look && looks_first(&next, self->since, now, deadline);
  while ((how = woken(self)) == VF_WAKE_NONE) {
    slept = true;
    if (vf_futex_wait_until(&self->woken, VF_WAKE_NONE,
                            looks ? &next : deadline, VF_PRIVATE) != ETIMEDOUT)
      continue;
    if ((!looks || look(what)) && leave(self))
      return looks ? VF_WAKE_LOOKED : VF_WAKE_TIMEOUT;
    if (looks)
      looks = looks_first(&next, self->since, vf_now_ns(), deadline);
  }
  if (slept)
    vf_wake_took(vf_now_ns() - self->woken_at);
  return how;
}

bool vf_unpark_one(const void *key, vf_decide *decide, void *what) {
  struct vf_bucket *bucket = lock_bucket(key);
  struct vf_waiter **link = find(&bucket->first, key);
  struct vf_waiter *first = *link;
  bool more = first && *find(&first->next, key);
  enum vf_wake how = decide(what, first, more);
  bool wakes = first && how != VF_WAKE_NONE;
  if (wakes) {
    *link = first->next;
    set_woken(first, how);
  }
  unlock_bucket(bucket);
  if (wakes)
    vf_futex_wake(&first->woken, 1, VF_PRIVATE);
  return wakes;
}

/* Moves the waiters for key that want this lock to its queue, as long as
 * may_move allows. Returns the others as a list; the caller must wake them. */
static struct vf_waiter *move(struct vf_bucket *from, const void *key,
                              void *lock, vf_may_move *may_move) {
  struct vf_waiter *woken = NULL;
  struct vf_waiter **end = end_of(lock ? bucket_of(lock) : from);
  struct vf_waiter **link = find(&from->first, key);
  uint64_t now = vf_now_ns();
  while (*link && (*link)->lock == lock) {
    struct vf_waiter *waiter = *link;
    *link = waiter->next;
    if (end == &waiter->next)
      end = link; /* The last waiter has left the only bucket in use. */
    if (lock && may_move(lock, /*must=*/woken != NULL)) {
      waiter->was_moved = true;
      waiter->since = now; /* From now on the thread waits for the lock. */
      __atomic_store_n(&waiter->key, lock, __ATOMIC_RELAXED);
      waiter->next = NULL;
      *end = waiter;
      end = &waiter->next;
    } else {
      waiter->next = woken;
      woken = waiter;
    }
    link = find(link, key);
  }
  return woken;
}

void vf_unpark_all(const void *key, vf_may_move *may_move,
                   void (*done)(void *what, bool left), void *what) {
  struct vf_bucket *from = bucket_of(key);
  bool left = true;
  while (left) {
    vf_plain_lock(&from->lock);
    struct vf_waiter *first = *find(&from->first, key);
    void *lock = first ? first->lock : NULL;
    unlock_bucket(from);

    struct vf_bucket *to = lock ? bucket_of(lock) : from;
    lock_both(from, to);
    struct vf_waiter *woken = move(from, key, lock, may_move);
    left = *find(&from->first, key) != NULL;
    /* Calls done before any waiter is woken, as a woken thread may free *what.
     */
    done(what, left);
    uint32_t *wake = NULL;
    while (woken) {
      struct vf_waiter *waiter = woken;
      woken = waiter->next;
      if (wake)
        vf_futex_wake(wake, 1, VF_PRIVATE);
      wake = &waiter->woken;
      set_woken(waiter, VF_WAKE_RETRY);
    }
    unlock_both(from, to);
    if (wake)
      vf_futex_wake(wake, 1, VF_PRIVATE);
  }
}

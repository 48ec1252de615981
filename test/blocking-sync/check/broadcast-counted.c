// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Broadcasts only if somebody waits, which waiters count.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-broadcast' %s -- -std=c11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:
// RUN: cp %s %t.c
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-broadcast' --fix %t.c -- -std=c11 2>&1 > /dev/null
// RUN: clang -std=c11 -fsyntax-only -pthread %t.c
// RUN: FileCheck %s --check-prefix=FIXED < %t.c

#include <pthread.h>

// One queue for both directions, in one function each.
struct work {
  pthread_mutex_t lock;
  pthread_cond_t worker;
  int size, count, head, pending;
  void **items;
};
void init(struct work *q) {
  q->pending = 0;
  q->count = 0;
}
void reader_update(struct work *q, void *in) {
  pthread_mutex_lock(&q->lock);
  if (in) {
    q->items[(q->head + q->count) % q->size] = in;
    q->count++;
    if (q->pending)
      // CHECK: :[[@LINE+2]]:7: warning: wakes all threads that wait on 'worker'
      // FIXED: pthread_cond_signal(&q->worker); /* reader */
      pthread_cond_broadcast(&q->worker); /* reader */
  }
  pthread_mutex_unlock(&q->lock);
}
void worker_update(struct work *q, void **out) {
  pthread_mutex_lock(&q->lock);
  if (q->count == 0) {
    q->pending++;
    while (q->count == 0)
      pthread_cond_wait(&q->worker, &q->lock);
    q->pending--;
  }
  *out = q->items[q->head];
  q->head = (q->head + 1) % q->size;
  q->count--;
  pthread_mutex_unlock(&q->lock);
}

// The count is compared, and changes around each wait.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t some = PTHREAD_COND_INITIALIZER;
static int units, waiters;
void release(void) {
  pthread_mutex_lock(&lock);
  units++;
  if (waiters > 0)
    // CHECK: :[[@LINE+1]]:5: warning: wakes all threads that wait on 'some'
    pthread_cond_broadcast(&some);
  pthread_mutex_unlock(&lock);
}
void release_other(void) {
  pthread_mutex_lock(&lock);
  units += 1;
  if (0 != waiters) {
    // CHECK: :[[@LINE+1]]:5: warning: wakes all threads that wait on 'some'
    pthread_cond_broadcast(&some);
  }
  pthread_mutex_unlock(&lock);
}
// With two of them waiting, one signal would do less than the broadcast.
void release_if_several(void) {
  pthread_mutex_lock(&lock);
  units++;
  if (waiters > 1)
    pthread_cond_broadcast(&some);
  pthread_mutex_unlock(&lock);
}
void acquire(void) {
  pthread_mutex_lock(&lock);
  while (units == 0) {
    waiters++;
    pthread_cond_wait(&some, &lock);
    waiters--;
  }
  units--;
  pthread_mutex_unlock(&lock);
}

// The queue was empty: a broadcast for several items, as the next puts do not wake.
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int filled_count;
void put_first(void) {
  pthread_mutex_lock(&lock);
  filled_count++;
  if (filled_count == 1)
    pthread_cond_broadcast(&filled);
  pthread_mutex_unlock(&lock);
}
void take_filled(void) {
  pthread_mutex_lock(&lock);
  while (filled_count == 0)
    pthread_cond_wait(&filled, &lock);
  filled_count--;
  pthread_mutex_unlock(&lock);
}

// A flag that the waker clears: the next put does not wake, so the broadcast is for all.
static pthread_cond_t flagged = PTHREAD_COND_INITIALIZER;
static int flagged_count, sleeping;
void put_flagged(void) {
  pthread_mutex_lock(&lock);
  flagged_count++;
  if (sleeping) {
    sleeping = 0;
    pthread_cond_broadcast(&flagged);
  }
  pthread_mutex_unlock(&lock);
}
void take_flagged(void) {
  pthread_mutex_lock(&lock);
  while (flagged_count == 0) {
    sleeping = 1;
    pthread_cond_wait(&flagged, &lock);
  }
  flagged_count--;
  pthread_mutex_unlock(&lock);
}

// Not all waiters count themselves.
static pthread_cond_t partly = PTHREAD_COND_INITIALIZER;
static int partly_count, counted;
void put_partly(void) {
  pthread_mutex_lock(&lock);
  partly_count++;
  if (counted)
    pthread_cond_broadcast(&partly);
  pthread_mutex_unlock(&lock);
}
void take_counted(void) {
  pthread_mutex_lock(&lock);
  counted++;
  while (partly_count == 0)
    pthread_cond_wait(&partly, &lock);
  counted--;
  partly_count--;
  pthread_mutex_unlock(&lock);
}
void take_uncounted(void) {
  pthread_mutex_lock(&lock);
  while (partly_count == 0)
    pthread_cond_wait(&partly, &lock);
  partly_count--;
  pthread_mutex_unlock(&lock);
}

// Somebody else sets the count back.
static pthread_cond_t reset = PTHREAD_COND_INITIALIZER;
static int reset_count, reset_waiters;
void put_reset(void) {
  pthread_mutex_lock(&lock);
  reset_count++;
  if (reset_waiters)
    pthread_cond_broadcast(&reset);
  pthread_mutex_unlock(&lock);
}
void take_reset(void) {
  pthread_mutex_lock(&lock);
  reset_waiters++;
  while (reset_count == 0)
    pthread_cond_wait(&reset, &lock);
  reset_waiters--;
  reset_count--;
  pthread_mutex_unlock(&lock);
}
void forget(void) {
  pthread_mutex_lock(&lock);
  reset_waiters = 0;
  pthread_mutex_unlock(&lock);
}

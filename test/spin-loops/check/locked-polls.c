// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop that tries to take an item under a mutex by a function that returns a bool, which has a byte in memory
// and a bit as a result.
//
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops,vfriendly-blocking-sync-sleep-poll' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <unistd.h>

struct queue {
  pthread_mutex_t lock;
  void *items[32];
  int first, count;
};
static bool try_get(struct queue *q, void **item) {
  bool found = false;
  pthread_mutex_lock(&q->lock);
  if (q->count > 0) {
    *item = q->items[q->first];
    q->first = (q->first + 1) % 32;
    q->count--;
    found = true;
  }
  pthread_mutex_unlock(&q->lock);
  return found;
}
void *get(struct queue *q) {
  void *item = 0;
  for (int tries = 0; !try_get(q, &item); tries++) {
    if (tries < 100)
      sched_yield();
    else
      // CHECK: :[[@LINE+1]]:7: warning: loop calls 'try_get' again and again and sleeps between tries: {{.*}}[vfriendly-blocking-sync-sleep-poll]
      usleep(10);
  }
  return item;
}

// Twin: it puts what it finds elsewhere, and goes on.
static bool move_one(struct queue *from, struct queue *to) {
  bool empty = true;
  pthread_mutex_lock(&from->lock);
  if (from->count > 0) {
    to->items[to->count++ % 32] = from->items[from->first];
    from->first = (from->first + 1) % 32;
    from->count--;
    empty = false;
  }
  pthread_mutex_unlock(&from->lock);
  return empty;
}
void move_all(struct queue *from, struct queue *to) {
  while (!move_one(from, to))
    sched_yield();
}

// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Known bug: a loop that tries to take an item under a mutex is not reported if
// the function that tries returns a bool. With int for bool, it is.
// XFAIL: *
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops,vfriendly-blocking-sync-sleep-poll' %s -- -std=gnu11 2>&1 | FileCheck %s

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
  // CHECK: :[[@LINE+1]]:3: warning: loop
  for (int tries = 0; !try_get(q, &item); tries++) {
    if (tries < 100)
      sched_yield();
    else
      usleep(10);
  }
  return item;
}

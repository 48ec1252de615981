// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same in C, with POSIX's conditions, wrappers that check, and ring buffers.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-broadcast' %s -- -std=c11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:
// RUN: cp %s %t.c
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-broadcast' --fix %t.c -- -std=c11 2>&1 > /dev/null
// RUN: clang -std=c11 -fsyntax-only -pthread %t.c
// RUN: FileCheck %s --check-prefix=FIXED < %t.c

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t some = PTHREAD_COND_INITIALIZER;
static int units;

void release(void) {
  pthread_mutex_lock(&lock);
  units++;
  // CHECK: :[[@LINE+2]]:3: warning: wakes all threads that wait on 'some'
  // FIXED: pthread_cond_signal(&some); /* 1 */
  pthread_cond_broadcast(&some); /* 1 */
  pthread_mutex_unlock(&lock);
}
void acquire(void) {
  pthread_mutex_lock(&lock);
  while (units == 0)
    pthread_cond_wait(&some, &lock);
  units--;
  pthread_mutex_unlock(&lock);
}

struct ring {
  pthread_mutex_t lock;
  pthread_cond_t full, empty;
  void *items[64];
  int head, tail, ended;
};
static void must_wait(pthread_cond_t *on, pthread_mutex_t *with) {
  if (pthread_cond_wait(on, with))
    abort();
}
void put(struct ring *r, void *item) {
  pthread_mutex_lock(&r->lock);
  while (r->head == (r->tail - 1 + 64) % 64)
    must_wait(&r->full, &r->lock);
  r->items[r->head] = item;
  r->head++;
  if (r->head == 64)
    r->head = 0;
  // CHECK: :[[@LINE+1]]:3: warning: wakes all threads that wait on 'empty'
  pthread_cond_broadcast(&r->empty);
  pthread_mutex_unlock(&r->lock);
}
void *get(struct ring *r) {
  void *item = NULL;
  pthread_mutex_lock(&r->lock);
  while (r->tail == r->head && !r->ended)
    must_wait(&r->empty, &r->lock);
  if (r->tail == r->head) {
    pthread_mutex_unlock(&r->lock);
    return NULL;
  }
  item = r->items[r->tail];
  r->tail = (r->tail + 1) % 64;
  // CHECK: :[[@LINE+1]]:3: warning: wakes all threads that wait on 'full'
  pthread_cond_broadcast(&r->full);
  pthread_mutex_unlock(&r->lock);
  return item;
}
// All that wait have to end.
void end(struct ring *r) {
  pthread_mutex_lock(&r->lock);
  r->ended++;
  pthread_cond_broadcast(&r->empty);
  pthread_mutex_unlock(&r->lock);
}

// Other files can see it, and wait for something else.
pthread_cond_t shared = PTHREAD_COND_INITIALIZER;
static int credits;
void credit(void) {
  pthread_mutex_lock(&lock);
  credits++;
  pthread_cond_broadcast(&shared);
  pthread_mutex_unlock(&lock);
}
void debit(void) {
  pthread_mutex_lock(&lock);
  while (credits == 0)
    pthread_cond_wait(&shared, &lock);
  credits--;
  pthread_mutex_unlock(&lock);
}

// A barrier: the last one lets all go on.
static pthread_cond_t all = PTHREAD_COND_INITIALIZER;
static int arrived, round_of;
void barrier(int n) {
  pthread_mutex_lock(&lock);
  int mine = round_of;
  if (++arrived == n) {
    arrived = 0;
    round_of++;
    pthread_cond_broadcast(&all);
  }
  while (round_of == mine)
    pthread_cond_wait(&all, &lock);
  pthread_mutex_unlock(&lock);
}
